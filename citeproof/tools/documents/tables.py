"""Writes the rows of a table so that each can be read alone: every cell with its column's name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_MOST_SPAN = 200
"""Rows or columns that a merged cell may cover; a file may claim a billion."""
_MOST_WIDE = 2_000
_NUMBER = re.compile(r"[\s(+\-−–$€£¥]*\d[\d\s.,:/%°()+\-−–$€£¥]*[A-Za-z%°]{0,3}")
_HEADER_WORDS = 12


@dataclass(frozen=True, eq=False)
class Cell:
    """A cell; a merged one stands as the same object in all the places that it covers."""

    text: str
    is_header: bool = False


_EMPTY = Cell("")


@dataclass
class Grid:
    """The cells of a table by row and column."""

    rows: list[list[Cell]] = field(default_factory=list)
    _hanging: dict[int, tuple[int, Cell]] = field(default_factory=dict)
    """Column → how many more rows its cell covers, and that cell."""
    _here: dict[int, Cell] = field(default_factory=dict)
    """Column → the cell that hangs down into the last row."""

    def start_row(self) -> None:
        """The cells that are added from now on stand in a new row."""
        self._fill(len(self._here))
        self.rows.append([])
        self._here = {column: cell for column, (_, cell) in self._hanging.items()}
        left = {column: (rows - 1, cell) for column, (rows, cell) in self._hanging.items()}
        self._hanging = {column: held for column, held in left.items() if held[0]}

    def add(self, text: str, *, across: int = 1, down: int = 1, is_header: bool = False) -> None:
        """The next cell of the row."""
        row = self.rows[-1]
        self._fill(0)
        cell = Cell(" ".join(text.split()), is_header)
        for _ in range(max(1, min(across, _MOST_SPAN, _MOST_WIDE - len(row)))):
            if down > 1:
                self._hanging[len(row)] = min(down, _MOST_SPAN) - 1, cell
            row.append(cell)

    def lines(self, header: int | None = None) -> list[str]:
        """The rows as `row_lines` writes them, under so many header rows or those marked so."""
        self._fill(len(self._here))
        if header is None:
            header = 0
            for row in self.rows:
                if not row or not all(cell.is_header or not cell.text for cell in row):
                    break
                header += 1
        return row_lines(self.rows, header)

    def _fill(self, most: int) -> None:
        """Put cells that hang down from above where the row has got to, up to `most` gaps on."""
        row = self.rows[-1] if self.rows else []
        while self._here:
            if held := self._here.pop(len(row), None):
                row.append(held)
            elif most and max(self._here) > len(row):
                row.append(_EMPTY)
            else:
                break


def row_lines(rows: Sequence[Sequence[Cell]], header: int) -> list[str]:
    """A line for each row below the header rows; without any, cells are parted by bars."""
    if not header or header >= len(rows):
        return [line for row in rows if (line := _bare(row))]
    names = _names(rows[:header])
    return [line for row in rows[header:] if (line := row_line(names, row))]


def row_line(names: Sequence[str], row: Sequence[Cell]) -> str:
    """A row with the names of its columns, as in `North; 2020: 12 crowns; 2021: 14 crowns`."""
    said: list[str] = []
    for column, cell in enumerate(row):
        if not cell.text or (column and row[column - 1] is cell):
            continue
        covered = [
            name
            for name, other in zip(names[column:], row[column:], strict=False)
            if other is cell and name
        ]
        spans_all = all(other is cell or not other.text for other in row)
        name = ", ".join(dict.fromkeys(covered)) if not (spans_all and len(row) > 1) else ""
        said.append(f"{name}: {cell.text}" if name and name != cell.text else cell.text)
    return "; ".join(said)


def looks_like_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of the rows names the columns of the others.

    All of its cells are short, different and no numbers, and below there is a number, or there
    are three columns: in two columns of words, the first row may be as good as the others.
    """
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    first = [text.strip() for text in rows[0]]
    named = [text for text in first if text]
    if len(set(named)) < len(first) - 1 or len(named) < 2 or (len(first) == 2 and not first[1]):
        return False
    if any(_NUMBER.fullmatch(text) and not _is_year(text) for text in named):
        return False
    if any(len(text.split()) > _HEADER_WORDS for text in named):
        return False
    below = [text for row in rows[1:] for text in row[1:] if text.strip()]
    return bool(below) and (len(first) > 2 or any(map(_NUMBER.fullmatch, below)))


def _is_year(text: str) -> bool:
    return len(text) == 4 and text.isdigit() and text[:2] in {"18", "19", "20"}


def _names(rows: Sequence[Sequence[Cell]]) -> list[str]:
    """The name of each column: what the header rows say above it."""
    width = max(map(len, rows))
    columns = [[row[n].text for row in rows if n < len(row)] for n in range(width)]
    return [" ".join(dict.fromkeys(filter(None, column))) for column in columns]


def _bare(row: Sequence[Cell]) -> str:
    said = [cell.text for n, cell in enumerate(row) if not n or row[n - 1] is not cell]
    while said and not said[-1]:
        said.pop()
    if len(said) == 2 and row[0].is_header and not row[1].is_header and said[0]:
        return f"{said[0].rstrip(':')}: {said[1]}"
    return " | ".join(said).strip() if any(said) else ""
