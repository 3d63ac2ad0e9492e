"""Reads documents into an index, with progress on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from rich.console import Console

from citeproof.console.reports import print_unread
from citeproof.console.standing import measure_files, show_standing
from citeproof.errors import InputError
from citeproof.memory.index import Index
from citeproof.paths import expand, is_folder
from citeproof.settings import Settings
from citeproof.tools.documents.encodings import decode
from citeproof.tools.documents.files import KNOWN_ENDINGS, find, load


def read_first(index: Index | None, documents: Sequence[Path], console: Console) -> None:
    """Index the documents to answer a question from, and print what could not be read."""
    if index is None:
        raise InputError("The tools have no index to read documents into")
    with show_standing(console, measure_files(documents)) as standing:
        report = index.update(documents, progress=standing)
    print_unread(report, console)
    if not (report.added or report.updated or report.unchanged or report.moved):
        raise _nothing(message for _, message in report.errors)


def refuse_nothing(documents: Sequence[Path]) -> Sequence[Path]:
    """Return the files that will be read; this refuses wrong paths before anything is loaded."""
    found = find(documents)
    if not found.files:
        raise _nothing(message for _, message in found.errors)
    return found.files


def nothing_indexed(settings: Settings) -> InputError:
    """Make the error of a command whose index is missing or empty."""
    where = "of the database" if settings.retriever.elsewhere else settings.chroma.path
    return InputError(
        f"There are no documents in the index {where}",
        fix="Index yours first: citeproof index DOCS. Or name them with --docs.",
    )


def refuse_missing_index(settings: Settings) -> None:
    """Refuse a command whose index is missing, before a folder is created for it."""
    chroma = settings.chroma
    is_elsewhere = settings.retriever.elsewhere or chroma.in_memory or chroma.host
    if not (is_elsewhere or is_folder(chroma.path)):
        raise nothing_indexed(settings)


def read_text(file: Path) -> tuple[str, str]:
    """Return the text of a file and its name for messages; `-` is the standard input."""
    if str(file) == "-":
        name = "The standard input"
        return decode(sys.stdin.buffer.read(), Path(name)), name
    path = expand(file)
    return decode(load(path), path), str(file)


def _nothing(messages: Iterable[str]) -> InputError:
    reasons = "; ".join(message.rstrip(".") for message in islice(messages, 3))
    return InputError(
        "None of the documents can be read",
        why=reasons or "no file is of a known kind",
        fix=KNOWN_ENDINGS,
    )
