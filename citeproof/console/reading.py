"""Reads documents into an index, before the reader's eyes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from citeproof.console.opening import indexing
from citeproof.console.reports import unread
from citeproof.errors import InputError
from citeproof.tools.documents import find

if TYPE_CHECKING:
    from citeproof.memory.index import Index, IndexReport

__all__ = ["read", "read_first"]


def read(index: Index, documents: Sequence[Path], console: Console) -> IndexReport:
    """Bring an index in line with documents, under a progress bar."""
    with indexing(console, len(find(documents).files)) as progress:
        return index.update(documents, progress=progress)


def read_first(index: Index | None, documents: Sequence[Path], console: Console) -> None:
    """Read what a question is to be answered from, and tell what could not be read.

    Raises:
        InputError: None of it could be read.
    """
    if index is None:
        raise InputError("The tools have no index to read documents into")
    report = read(index, documents, console)
    unread(report, console)
    if not (report.added or report.updated or report.unchanged):
        reasons = "; ".join(message.rstrip(".") for _, message in report.errors[:3])
        raise InputError(
            "None of the documents can be read",
            why=reasons or "no file is of a known kind",
            fix="Give --docs text, Markdown, HTML, PDF, Word or JSON Lines files.",
        )
