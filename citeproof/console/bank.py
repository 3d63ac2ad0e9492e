"""`citeproof bank`: exports and imports cases, and prints statistics of them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import typer
from langchain_core.embeddings import Embeddings
from rich.console import Console
from rich.text import Text

from citeproof.cases import Entry, ImportReport, Statistics
from citeproof.console.entail import open_result
from citeproof.console.opening import show_downloads
from citeproof.console.output import print_table
from citeproof.console.reading import read_text
from citeproof.errors import InputError
from citeproof.memory.bank import Bank
from citeproof.settings import RetrieverSettings, Settings
from citeproof.text import count, plain
from citeproof.tools.retrieval.remote_embeddings import open_embedder


def open_bank(
    settings: Settings, namespace: str | None, embeddings: Embeddings | None = None
) -> closing[Bank]:
    """Open the bank that the settings name, in another namespace if one is given."""
    name = settings.bank.namespace if namespace is None else namespace
    return closing(Bank.open(settings.chroma, embeddings, namespace=name))


@contextmanager
def open_embedding_bank(settings: Settings, err: Console) -> Iterator[Bank]:
    """Open the bank with the model that embeds new cases."""
    with show_downloads(err, "opening the memory bank…") as progress:
        dense = settings.model_copy(update={"retriever": RetrieverSettings()})  # cases need vectors
        model = open_embedder(dense, progress)
    with open_bank(settings, None, model) as bank:
        yield bank


def confirm_rebuild(settings: Settings, *, yes: bool) -> None:
    """Ask before a bank that is not empty is deleted, unless `yes` has confirmed it."""
    with open_bank(settings, None) as bank:
        held = asyncio.run(bank.count(everywhere=True))
    if yes or not held:
        return
    if not _can_ask():
        raise InputError("Nothing was deleted", why="nobody confirmed it", fix="Add --yes.")
    typer.confirm(f"Delete {count(held, 'case')} first?", abort=True)


def print_statistics(statistics: Statistics, console: Console) -> None:
    """Print how much the bank holds."""
    mean = "–" if statistics.mean_score is None else f"{statistics.mean_score:.2f}"
    rows = [("cases", f"{statistics.cases:,}")]
    rows += [(f"  {name}", f"{number:,}") for name, number in statistics.namespaces.items()]
    rows += [
        ("rationales", f"{statistics.rationales:,} of {3 * statistics.cases:,}"),
        ("mean score", f"{mean} ({count(statistics.scored, 'case')})"),
        ("vectors", plain(statistics.embedder) or "none"),
    ]
    print_table(console, [(Text(name), Text(value, style="bold")) for name, value in rows])


def write_export(entries: Sequence[Entry], out: Path | None, err: Console) -> None:
    """Write cases as JSON lines to stdout, or to a file that appears whole or not at all."""
    with open_result(out, Path("-")) as file:
        for entry in entries:
            file.write(f"{entry.model_dump_json()}\n".encode())
        file.flush()
    err.print(count(len(entries), "case"))


def read_export(file: Path) -> tuple[list[str], str]:
    """Return the lines of a file and its name for messages; `-` is the standard input."""
    text, name = read_text(file)
    if not text.strip():
        fix = "Name a file that `citeproof bank export` wrote."
        raise InputError(f"{name} holds no case", fix=fix)
    return text.split("\n"), name


def print_import(report: ImportReport, console: Console) -> None:
    """Print the outcome of an import."""
    rows = (("added", report.added), ("skipped", report.skipped))
    print_table(console, [(name, Text(count(own, "case"), style="bold")) for name, own in rows])


def _can_ask() -> bool:
    return sys.stdin.isatty()
