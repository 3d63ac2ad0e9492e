"""Writes the rows of tables on a PDF page with the names of their columns."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations, pairwise
from operator import or_
from typing import NamedTuple

from citeproof.tools.documents.pdf_lines import Line, Piece, by_row, gap
from citeproof.tools.documents.tables import Cell, cell_of, column_names, find_header

_FEWEST_ROWS = 3
"""Least number of rows with a cell in each column."""
_MOST_ROWS = 200
_FAR = 2.5
"""Rows of a table stand at most this many times their height apart."""
_WRAPPED = 0.9
"""Lines of a cell stand at most this many times their height apart."""
_CENTRED = 0.02
"""A name above several columns is within this share of the page's width of their middle."""
_TOUCH = 0.002
"""Columns may overlap by this share of the page's width."""
_VALUE = re.compile(r"\W*\d[\d.,\s]*\W*(?:[A-Za-z%°]{1,3})?")
_LONGEST_CELL = 200


class Columns(NamedTuple):
    """The columns of a table."""

    names: Sequence[str]
    places: Sequence[tuple[float, float]]
    """The left and the right edge of each, as shares of the page's width."""


def with_column_names(
    lines: Sequence[Line], above: Columns | None
) -> tuple[list[Line], Columns | None]:
    """Replace each row of a table by a line such as `North; 2020: 12 crowns; 2021: 14 crowns`.

    A table is a run of rows whose cells stand below each other, with one or two first rows that
    name the columns: they are bold, or there are numbers below them. All else stays as it is.

    Args:
        lines: The lines of a page.
        above: The columns of the table with which the page before it ends; it may go on here.

    Returns:
        The lines, and the columns of the table with which this page ends.
    """
    rows, place = by_row(lines), 0
    kept: list[Line] = []
    while place < len(rows):
        found = _table(rows, place) or (_continued(rows, above) if above and not place else None)
        size, table, above = found or (1, rows[place], None)
        kept += table
        place += size
    return kept, above if rows else None


def _continued(
    rows: Sequence[list[Line]], above: Columns
) -> tuple[int, list[Line], Columns] | None:
    """Return how many rows go on with the table of the page before, and its lines."""
    if len(rows[0]) != len(above.names):
        return None
    used, grid = _grid(list(_near(rows[:_MOST_ROWS])), above.places)
    return (used, [_line(above.names, row) for row in grid], above) if used else None


def _table(rows: Sequence[list[Line]], place: int) -> tuple[int, list[Line], Columns] | None:
    """Return how many rows the table has that begins at a place, and its lines; None if none does.

    Beyond `_MOST_ROWS`, rows are not looked at, since a table is sought at each of them.
    """
    if len(rows[place]) < 2 or any(cell.font.fixed for cell in rows[place]):  # fixed: code
        return None
    block = list(_near(rows[place : place + _MOST_ROWS]))
    if not block:
        return None
    width = statistics.mode([len(row) for row in block])
    full = [row for row in block if len(row) == width]
    if width < 2 or len(full) < _FEWEST_ROWS:
        return None
    columns = [
        (min(cell.area.left for cell in column), max(cell.area.right for cell in column))
        for column in zip(*full, strict=True)
    ]
    if any(right > left + _TOUCH for (_, right), (left, _) in pairwise(columns)):
        return None
    top = _spanning(block[0], columns)
    used, grid = _grid(block[len(top) :], columns)
    used, grid = used + len(top), top + grid
    if not top and grid and not all(grid[0][1:]):  # only the corner may be blank
        return None
    texts = [[cell_of(" ".join(line.text for line in cell)) for cell in row] for row in grid]
    header = find_header(texts)
    if len(grid) < _FEWEST_ROWS or len(header) <= len(top):
        return None
    if not _stands_out(grid, texts, len(header)):
        return None
    if top and _may_be_narrower(top, texts[1], columns):
        return None
    names = column_names(header)
    return used, [_line(names, row) for row in grid[len(header) :]], Columns(names, columns)


def _spanning(
    row: Sequence[Line], columns: Sequence[tuple[float, float]]
) -> list[list[list[Line]]]:
    """Return a row of names, each above the middle of one or more columns; nothing if it is none.

    Each name is the cell of its first column, and the other cells are blank.
    """
    first = int(row[0].area.left > columns[0][1])
    if len(row) >= len(columns) - first:
        return []
    cells: list[list[Line]] = [[] for _ in columns]
    for name in row:
        off = [_off(name, columns[first:end]) for end in range(first + 1, len(columns) + 1)]
        if not off or min(off) > _CENTRED:
            return []
        cells[first].append(name)
        first += off.index(min(off)) + 1
    return [cells] if first == len(columns) else []


def _off(name: Line, columns: Sequence[tuple[float, float]]) -> float:
    """Return how far a name is from the middle of columns."""
    return abs(columns[0][0] + columns[-1][1] - name.area.left - name.area.right) / 2


def _may_be_narrower(
    top: Sequence[Sequence[Sequence[Line]]],
    second: Sequence[Cell],
    columns: Sequence[tuple[float, float]],
) -> bool:
    """Whether a name of the top row may belong to fewer columns than those that `_spanning` found.

    Columns without such a name, one on each side of a group, do not change its middle. Groups are
    sure if the second row names the columns of each alike, as with the same years below each name.
    """
    starts = [place for place, cell in enumerate(top[0]) if cell]
    groups = list(pairwise([*starts, len(columns)]))
    alike = [[cell.text for cell in second[first:end]] for first, end in groups if end > first + 1]
    if len(alike) > 1 and all(names == alike[0] for names in alike):
        return False
    return any(
        _off(top[0][first][0], columns[left:right]) <= _CENTRED
        for first, end in groups
        for left, right in combinations(range(first, end + 1), 2)
        if (left, right) != (first, end)
    )


def _grid(
    rows: Sequence[list[Line]], columns: Sequence[tuple[float, float]]
) -> tuple[int, list[list[list[Line]]]]:
    """Return how many rows have the columns, and their cells; a cell may have several lines."""
    grid: list[list[list[Line]]] = []
    used = 0
    for row in rows:
        cells = _in_columns(row, columns)
        if cells is None:
            break
        if grid and not cells[0] and _goes_on(grid[-1], cells):
            grid[-1] = [above + below for above, below in zip(grid[-1], cells, strict=True)]
        else:
            grid.append(cells)
        used += 1
    return used, grid


def _near(rows: Sequence[list[Line]]) -> Iterator[list[Line]]:
    """Yield the rows that follow each other closely and have several cells, or a wrapped one."""
    above: Line | None = None
    for row in rows:
        line = row[0]
        if any(cell.noted or not cell.pieces or len(cell.text) > _LONGEST_CELL for cell in row):
            return
        if above and not 0 <= gap(above, line) < _FAR * above.area.height:
            return
        if above and len(row) == 1 and line.area.left <= above.area.left + _TOUCH:
            return
        yield row
        above = line


def _in_columns(
    row: Sequence[Line], columns: Sequence[tuple[float, float]]
) -> list[list[Line]] | None:
    """Return the cell of each column; None if a cell is in no column or several."""
    cells: list[list[Line]] = [[] for _ in columns]
    for line in row:
        places = [
            place
            for place, (left, right) in enumerate(columns)
            if line.area.left < right and line.area.right > left
        ]
        if len(places) != 1 or cells[places[0]]:
            return None
        cells[places[0]].append(line)
    return cells


def _goes_on(above: Sequence[Sequence[Line]], row: Sequence[Sequence[Line]]) -> bool:
    """Whether all cells of a row only continue the words of the cells above them."""
    return all(
        bool(over)
        and gap(over[-1], cell[0]) < _WRAPPED * cell[0].area.height
        and not _VALUE.fullmatch(cell[0].text)
        for over, cell in zip(above, row, strict=True)
        if cell
    )


def _stands_out(
    grid: Sequence[Sequence[Sequence[Line]]], texts: Sequence[Sequence[Cell]], size: int
) -> bool:
    """Whether the first rows are bold and the others are not, or have numbers below them."""
    bold = [[line.font.bold for cell in row for line in cell] for row in grid]
    if all(map(all, bold[:size])) and not any(map(all, bold[size:])):
        return True
    values = zip(*texts[size:], strict=True)
    return any(
        2 * sum(bool(_VALUE.fullmatch(cell.text)) for cell in column) > len(texts) - size
        for column in list(values)[1:]
    )


def _line(names: Sequence[str], row: Sequence[Sequence[Line]]) -> Line:
    """Write a row as one line; the pieces are those of its cells."""
    text, pieces = "", list[Piece]()
    for name, cell in zip(names, row, strict=True):
        if not cell:
            continue
        said = " ".join(line.text for line in cell)
        text += ("; " if text else "") + (f"{name}: " if name and name != said else "")
        for line in cell:
            pieces += (
                Piece(len(text) + piece.start, len(text) + piece.end, piece.area)
                for piece in line.pieces
            )
            text += line.text + (" " if line is not cell[-1] else "")
    every = [line for cell in row for line in cell]
    area = reduce(or_, (line.area for line in every))
    return Line(text, tuple(pieces), area, font=every[0].font, is_row=True)
