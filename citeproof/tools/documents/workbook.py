"""A sheet of a workbook: its rows, and what it has besides the values of its cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from citeproof.tools.documents.base import Part
from citeproof.tools.documents.tables import Row, table_parts

Merged: TypeAlias = tuple[int, int, int, int]
"""First column, first row, last column and last row of a merged cell, from 1."""
Comment: TypeAlias = tuple[int, str, str, str]
"""Row of a comment, its cell such as `B2`, its author or "", and its text."""
_MOST_COVERED = 50_000
"""Total cells that the merged cells of a sheet may cover; further ones are not expanded."""
_LABEL = 60
_UNNAMED = re.compile(
    r"(?:sheet|tabelle|feuil|hoja|foglio|planilha|blad|ark|arkusz|лист)[ _]?\d*", re.IGNORECASE
)
"""Names that programs give to sheets."""


@dataclass
class Sheet:
    """A sheet; a reader fills it."""

    name: str
    location: str
    rows: list[Row] = field(default_factory=list)
    merged: list[Merged] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    boxes: list[str] = field(default_factory=list)
    """The texts of text boxes and shapes."""
    uncomputed: int = 0
    """Number of formulas without a value."""

    def cut_off(self, most: int) -> str:
        """Return the message about a cut-off sheet: only `most` cells of a workbook are read."""
        return f"{self.location} was cut off: at most {most:,} cells are read"

    def parts(self, title: str) -> list[Part]:
        """Return a part for each table, and one for the comments and text boxes below them."""
        self._fill_merged()
        headings = _headings(self.name, title)
        parts = table_parts(self.rows, title, self.location, headings)
        if text := "\n".join([*self._say_comments(), *self.boxes]):
            parts.append(Part(text, 0, 0, len(text), title, headings, location=self.location))
        return parts

    def _fill_merged(self) -> None:
        """Copy merged cells into all cells that they cover, in rows that are not blank."""
        known = {row.number: row for row in self.rows}
        left = _MOST_COVERED
        for first, top, last, bottom in self.merged:
            if top not in known or first not in known[top].cells:
                continue
            if (left := left - (last - first + 1) * (bottom - top + 1)) < 0:
                return
            covered = dict.fromkeys(range(first, last + 1), known[top].cells[first])
            for number in range(top, bottom + 1):
                if number in known:
                    known[number].cells.update(covered)

    def _say_comments(self) -> Iterator[str]:
        """Yield the comments, each with the first cell of its row."""
        labels = {row.number: row.cells[min(row.cells)].text[:_LABEL] for row in self.rows}
        for number, cell, author, text in self.comments:
            by = f" by {author}" if author else ""
            label = f" ({labels[number]})" if labels.get(number) else ""
            yield f"Comment{by} on {cell}{label}: {text}"


def _headings(name: str, title: str) -> tuple[str, ...]:
    """Return a sheet's name as a heading, unless a program chose it or the title says it.

    >>> _headings("Berlin", "costs"), _headings("Sheet1", "costs")
    (('Berlin',), ())
    """
    said = " ".join(name.split())
    is_told = _UNNAMED.fullmatch(said) or said.casefold() == title.casefold()
    return () if is_told or not said else (said,)
