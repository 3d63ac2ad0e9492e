"""Writes out pipe tables, as in Markdown, so that each row can be read alone."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from citeproof.tools.documents.tables import Cell, cell_of, row_lines

_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:[|+][ \t]*:?-*:?[ \t]*)+")
"""The line of dashes below the header; databases and Org mode write a plus between columns."""
_MOST_GROWTH = 20
"""A table is left alone if its header, repeated in each row, is this many times its size."""
_BAR = re.compile(r"(?<!\\)\|")


def write_out_tables(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Replace each row of a pipe table by a line such as `North; 2020: 12 crowns`.

    Returns the new text, and the offsets of its rows.
    """
    lines = text.split("\n")
    written: list[str] = []
    rows: list[tuple[int, int]] = []
    place = number = 0
    while number < len(lines):
        end = _table_end(lines, number)
        found = _written_out(lines[number:end]) if end else [lines[number]]
        for line in found:
            if end:
                rows.append((place, place + len(line)))
            place += len(line) + 1
        written += found
        number = end or number + 1
    return "\n".join(written), rows


def _table_end(lines: Sequence[str], number: int) -> int:
    """Return the line after the table that begins here, or 0 if none does."""

    def is_row(place: int) -> bool:
        return place < len(lines) and "|" in lines[place]

    if not (is_row(number) and is_row(number + 2) and _RULE.fullmatch(lines[number + 1])):
        return 0
    return next(end for end in itertools.count(number + 3) if not is_row(end))


def _written_out(table: Sequence[str]) -> list[str]:
    if len(table[0]) * len(table) > _MOST_GROWTH * sum(map(len, table)):
        return [*table]
    return row_lines(map(_cells, table[2:]), [_cells(table[0])])


def _cells(line: str) -> list[Cell]:
    said = line.strip().removeprefix("|")
    if said.endswith("|") and not said.endswith(r"\|"):
        said = said[:-1]
    return [cell_of(cell.replace(r"\|", "|")) for cell in _BAR.split(said)]
