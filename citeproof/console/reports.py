"""Tables for the terminal: indexed documents, the installation, models and methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from rich.console import Console
from rich.text import Text

from citeproof.console.output import echo_json, print_table, write_line
from citeproof.doctor import Check
from citeproof.graphs.registry import Method
from citeproof.memory.index import IndexedDocument, IndexReport
from citeproof.models.fetch import model_folder
from citeproof.models.manifest import EmbeddedModel
from citeproof.models.stamps import is_stamped
from citeproof.paths import is_folder
from citeproof.settings import ModelSettings
from citeproof.text import count, plain
from citeproof.tools.documents.files import KNOWN_ENDINGS

_SIGNS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "missing": ("✗", "red")}


def print_index_report(
    report: IndexReport, console: Console, *, details: bool = False, as_json: bool = False
) -> None:
    """Print the outcome of an index update; with `details`, list everything left out."""
    if as_json:
        echo_json(report)
        return
    rows = []
    for name in ("added", "updated", "unchanged", "moved", "removed"):
        if documents := getattr(report, name):
            rows.append((name, Text(count(len(documents), "document"), style="bold")))
    is_idle = not rows
    rows.append(("in all", Text(count(report.passages, "passage"), style="bold")))
    print_table(console, rows)
    for old, new in report.moved if details else ():
        write_line(console, f"moved: {old} → {new}")
    print_unread(report, console, details=details)
    if not report.errors and not report.left_out and (is_idle or not report.passages):
        told = f"There is no document of a known kind to read. {KNOWN_ENDINGS}"
        write_line(console, told, "yellow")


def print_unread(report: IndexReport, console: Console, *, details: bool = False) -> None:
    """Print what was left out and which documents could not be read, with the reasons."""
    if details:
        unread = ((path, "no reader for its kind") for path in report.skipped)
        for name, why in (*unread, *report.left_out):
            write_line(console, f"left out: {name} ({why})")
    else:
        if report.skipped:
            kinds = Counter(PurePath(path).suffix.lstrip(".") or "none" for path in report.skipped)
            shown = ", ".join(f"{kind} {number:,}" for kind, number in kinds.most_common())
            files = count(len(report.skipped), "file")
            write_line(console, f"left out: {files} of other kinds ({shown})")
        for why, number in Counter(why for _, why in report.left_out).most_common():
            write_line(console, f"left out ({number:,}): {why}")
    for sign, some in ((("! ", "yellow"), report.problems), (("✗ ", "red"), report.errors)):
        for document, message in some:
            reason = plain(message)
            if plain(document) not in reason:
                reason = f"{plain(document)}: {reason}"
            write_line(console, Text.assemble(sign, reason))


def print_documents(
    held: Sequence[IndexedDocument], console: Console, *, as_json: bool = False
) -> None:
    """Print the documents of an index, with kind, number of passages and time of indexing."""
    if as_json:
        echo_json(held)
        return
    rows = []
    for one in held:
        since = f"{one.indexed.astimezone():%Y-%m-%d %H:%M}" if one.indexed else "incomplete"
        rows.append((one.document, one.kind, f"{one.passages:,}", since))
    print_table(console, rows, ("document", "kind", "passages", "indexed"))
    passages = count(sum(one.passages for one in held), "passage")
    write_line(console, f"{count(len(held), 'document')}, {passages}", "dim")


def print_checks(found: Sequence[Check], console: Console) -> None:
    """Print a diagnosis, with the remedies."""
    rows = []
    for check in found:
        sign, colour = _SIGNS[check.status]
        detail = Text(plain(check.detail))
        if check.fix:
            detail.append(f"\n{plain(check.fix)}", style=colour)
        rows.append((Text(sign, style=f"bold {colour}"), check.name, detail))
    print_table(console, rows)


def print_models(known: Iterable[EmbeddedModel], settings: ModelSettings, console: Console) -> None:
    """Print the embedded models, and whether they are downloaded."""
    rows = []
    for model in known:
        folder = model_folder(model, settings)
        # Hashing a copy would take a minute, so it waits until the model is first used.
        there = "not verified yet" if is_folder(folder) else "not fetched"
        state = "ready" if is_stamped(folder, model.files) else there
        size = f"{model.size / 1e6:,.0f} MB"
        rows.append((model.name, model.role, size, model.licence, state, str(folder)))
    print_table(console, rows, ("model", "role", "size", "licence", "state", "folder"))


def print_methods(known: Iterable[Method], console: Console) -> None:
    """Print the methods, with what each does and costs."""
    for method in known:
        write_line(console, Text.assemble((method.name, "bold"), f"  {method.about}"))
        write_line(console, method.cost, "dim", indent=4)
