"""Makes parts of the rows of a sheet: each row a line with the names of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from citeproof.tools.documents.base import Part
from citeproof.tools.documents.tables import Cell, looks_like_header, row_lines

_LOOK_AT = 20
"""Rows that say whether the first one names the columns."""


@dataclass
class Row:
    """A row that says something."""

    number: int
    values: dict[int, str]
    """Column, from 1 → what stands there."""
    covered: dict[int, int] = field(default_factory=dict)
    """Column → the first column of the merged cell that covers it."""

    def merge(self, first: int, last: int, text: str) -> None:
        """One cell covers columns `first` to `last`."""
        for column in range(first, last + 1):
            self.values[column] = text
            self.covered[column] = first


def table_parts(
    rows: Sequence[Row], title: str, location: str, *, named: bool = False
) -> list[Part]:
    """A part for each table among the rows of a sheet; blank rows stand between them.

    Args:
        rows: The rows that are not blank, in order.
        title: Of the document.
        location: Of the sheet, as in `sheet Sales`.
        named: Whether the first row of the sheet names its columns, whatever it looks like.
    """
    parts = []
    for table in _tables(rows):
        if part := _part(table, title, location, named=named):
            parts.append(part)
            named = False
    return parts


def _tables(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Tables: rows that follow each other, or stand below the same names after a gap."""
    begin = 0
    for place in range(1, len(rows) + 1):
        ends = place == len(rows)
        if not ends and rows[place].number > rows[place - 1].number + 1:
            below = _texts(rows[place : place + _LOOK_AT])
            # A gap within a table, unless names of columns or something narrower follow.
            ends = looks_like_header(below) or len(rows[place].values) < 2 or place - begin < 2
        if ends:
            yield rows[begin:place]
            begin = place


def _texts(rows: Sequence[Row]) -> list[list[str]]:
    left = min((min(row.values) for row in rows if row.values), default=1)
    right = max((max(row.values) for row in rows if row.values), default=0)
    return [[row.values.get(n, "") for n in range(left, right + 1)] for row in rows]


def _part(rows: Sequence[Row], title: str, location: str, *, named: bool) -> Part | None:
    # Lines that stand alone above the names are the table's own title.
    lead = 0
    while lead < len(rows) - 2 and len(set(rows[lead].values.values())) == 1:
        lead += 1
    if not looks_like_header(_texts(rows[lead : lead + _LOOK_AT])):
        lead = 0
    head = int(named or looks_like_header(_texts(rows[lead : lead + _LOOK_AT])))
    right = max(max(row.values) for row in rows)
    left = min(min(row.values) for row in rows)
    grid = [list(_cells(row, left, right)) for row in rows]
    text = ""
    kept: list[tuple[int, int]] = []
    numbers: list[int] = []
    above = " ".join(next(iter(row.values.values())) for row in rows[:lead])
    names = grid[lead : lead + head]
    for row, cells in zip(rows[lead + head :], grid[lead + head :], strict=True):
        for line in row_lines([*names, cells], head):
            text += "\n" if text else ""
            kept.append((len(text), len(text) + len(line)))
            numbers.append(row.number)
            text += line
    if not text:  # nothing but names
        text = "\n".join(line for cells in grid for line in row_lines([cells], 0))
    headings = (above,) if above and above != title else ()
    return Part(
        text,
        0,
        0,
        len(text),
        title,
        headings,
        location=location,
        kept=tuple(kept),
        rows=tuple(numbers),
    )


def _cells(row: Row, left: int, right: int) -> Iterator[Cell]:
    merged: dict[int, Cell] = {}
    for column in range(left, right + 1):
        text = " ".join(row.values.get(column, "").split())
        first = row.covered.get(column)
        yield merged.setdefault(first, Cell(text)) if first else Cell(text)
