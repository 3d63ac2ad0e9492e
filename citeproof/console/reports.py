"""Tables for the terminal: what was indexed, what is installed, which models there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from rich.console import Console
from rich.table import Table
from rich.text import Text

from citeproof.doctor import Check
from citeproof.graphs.registry import Method
from citeproof.memory.index import IndexedDocument, IndexReport
from citeproof.models.fetch import model_folder
from citeproof.models.manifest import EmbeddedModel
from citeproof.models.stamps import is_stamped
from citeproof.settings import ModelSettings
from citeproof.text import count, plain
from citeproof.tools.documents.files import READERS

__all__ = ["checks", "documents", "methods", "models", "print_index_report", "unread"]

_SIGNS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "missing": ("✗", "red")}


def print_index_report(report: IndexReport, console: Console, *, details: bool = False) -> None:
    """Print the outcome of an update of the index; `details` names all that was left out."""
    table = Table.grid(padding=(0, 2))
    for name, number in (
        ("added", len(report.added)),
        ("updated", len(report.updated)),
        ("unchanged", len(report.unchanged)),
        ("moved", len(report.moved)),
        ("removed", len(report.removed)),
    ):
        if number:
            table.add_row(name, Text(count(number, "document"), style="bold"))
    table.add_row("in all", Text(count(report.passages, "passage"), style="bold"))
    console.print(table)
    for old, new in report.moved if details else ():
        _print(console, Text(f"moved: {plain(old)} → {plain(new)}"))
    unread(report, console, details=details)
    if not (report.passages or report.errors):
        told = "There is no document of a known kind to read. Known endings: "
        _print(console, Text(f"{told}{', '.join(sorted(READERS))}.", style="yellow"))


def unread(report: IndexReport, console: Console, *, details: bool = False) -> None:
    """Print the parts left out, and the documents that could not be read, with the reason."""
    if report.skipped and not details:
        kinds = Counter(PurePath(path).suffix.lstrip(".") or "none" for path in report.skipped)
        shown = ", ".join(f"{plain(kind)} {number:,}" for kind, number in kinds.most_common())
        told = f"left out: {count(len(report.skipped), 'file')} of other kinds ({shown})"
        _print(console, Text(told))
    for path in report.skipped if details else ():
        _print(console, Text(f"left out: {plain(path)} (no reader reads its kind)"))
    reasons = Counter(why for _, why in report.left_out)
    for why, number in reasons.most_common() if not details else ():
        _print(console, Text(f"left out ({number:,}): {plain(why)}"))
    for name, why in report.left_out if details else ():
        _print(console, Text(f"left out: {plain(name)} ({plain(why)})"))
    for sign, some in ((("! ", "yellow"), report.problems), (("✗ ", "red"), report.errors)):
        for document, message in some:
            reason = plain(message)
            if plain(document) not in reason:
                reason = f"{plain(document)}: {reason}"
            _print(console, Text.assemble(sign, reason))


def documents(held: Sequence[IndexedDocument], console: Console) -> None:
    """The documents of an index: what each is, how many passages it has, and since when."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("document", "kind", "passages", "indexed"):
        table.add_column(title, overflow="fold", justify="right" if title == "passages" else "left")
    for one in held:
        since = f"{one.indexed.astimezone():%Y-%m-%d %H:%M}" if one.indexed else "not whole yet"
        cells = (one.document, one.kind, f"{one.passages:,}", since)
        table.add_row(*(Text(plain(cell)) for cell in cells))
    console.print(table)
    passages = count(sum(one.passages for one in held), "passage")
    _print(console, Text(f"{count(len(held), 'document')}, {passages}", style="dim"))


def checks(found: Sequence[Check], console: Console) -> None:
    """Print a diagnosis, with the remedies."""
    table = Table.grid(padding=(0, 2))
    for check in found:
        sign, colour = _SIGNS[check.status]
        detail = Text(plain(check.detail))
        if check.fix:
            detail.append(f"\n{plain(check.fix)}", style=colour)
        table.add_row(Text(sign, style=f"bold {colour}"), Text(plain(check.name)), detail)
    console.print(table)


def models(known: Iterable[EmbeddedModel], settings: ModelSettings, console: Console) -> None:
    """The embedded models, and whether they are here."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("model", "role", "size", "licence", "state", "folder"):
        table.add_column(title, overflow="fold")
    for model in known:
        folder = model_folder(model, settings)
        # Hashing a copy would take a minute; it is done when the model is first used.
        there = "not verified yet" if folder.is_dir() else "not fetched"
        state = "ready" if is_stamped(folder, model.files) else there
        size = f"{model.size / 1e6:,.0f} MB"
        cells = (model.name, model.role, size, model.licence, state, str(folder))
        table.add_row(*(Text(plain(cell)) for cell in cells))
    console.print(table)


def _print(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=not console.is_terminal)


def methods(known: Iterable[Method], console: Console) -> None:
    """The methods by name, with what each does and costs."""
    for method in known:
        _print(console, Text.assemble((method.name, "bold"), f"  {method.about}"))
        _print(console, Text(f"    {method.cost}", style="dim"))
