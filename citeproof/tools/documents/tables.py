"""Writes the rows of a table so that each can be read alone: every cell with its column's name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby, pairwise, takewhile

from citeproof.tools.documents.base import Part
from citeproof.tools.documents.letters import SOFT

_MOST_SPAN = 200
"""Maximum number of rows or columns of a merged cell; a file may claim a billion."""
_MOST_WIDE = 2_000
_NUMBER = re.compile(r"[\s(+\-−–$€£¥]*\d[\d\s.,:/%°()+\-−–$€£¥]*[A-Za-z%°]{0,3}")
_YEAR = re.compile(r"(?:18|19|20)\d\d")
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_DIGITS = re.compile(r"[\d.,\s]+(?=\d)|\d")
_HEADER_WORDS = 12
_MOST_NAME = 120
"""Characters of a column's name that stand in each row; a file of a megabyte with a name of that
length would otherwise become gigabytes."""
_LOOK_AT = 20
"""Number of rows that decide whether the first one names the columns."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A table cell; a merged cell is the same object in every place that it covers."""

    text: str
    is_header: bool = False


_EMPTY = Cell("")


def cell_of(text: str, *, is_header: bool = False) -> Cell:
    """Create a cell, with its text on one line."""
    return Cell(" ".join(text.translate(SOFT).split()), is_header)


@dataclass
class Grid:
    """The cells of a table by row and column."""

    rows: list[list[Cell]] = field(default_factory=list)
    _hanging: dict[int, tuple[int, Cell]] = field(default_factory=dict)
    """Column → the number of further rows that its cell covers, and the cell."""
    _here: dict[int, Cell] = field(default_factory=dict)
    """Column → the cell that extends down into the last row."""

    def start_row(self) -> None:
        """Start a new row."""
        self._fill(len(self._here))
        self.rows.append([])
        self._here = {column: cell for column, (_, cell) in self._hanging.items()}
        left = {column: (rows - 1, cell) for column, (rows, cell) in self._hanging.items()}
        self._hanging = {column: held for column, held in left.items() if held[0]}

    def add(self, text: str, *, across: int = 1, down: int = 1, is_header: bool = False) -> None:
        """Add the next cell of the row."""
        row = self.rows[-1]
        self._fill(0)
        cell = cell_of(text, is_header=is_header)
        for _ in range(max(1, min(across, _MOST_SPAN, _MOST_WIDE - len(row)))):
            if down > 1:
                self._hanging[len(row)] = min(down, _MOST_SPAN) - 1, cell
            row.append(cell)

    def lines(self, header: int = 0) -> list[str]:
        """Return `row_lines` of the rows below `header` rows, or of all if none is below.

        If that is 0, the header is the leading rows of header cells, or else what looks like one. A
        header cell across all columns is a title: of the table, or of the rows below it.
        """
        self._fill(len(self._here))
        width = max(map(len, self.rows), default=0)

        def is_title(row: Sequence[Cell]) -> bool:
            spans_all = 1 < width == len(row) and len({id(cell) for cell in row}) == 1
            return spans_all and (row[0].is_header or not row[0].text)

        lead = 0 if header else sum(1 for _ in takewhile(is_title, self.rows))
        rows = self.rows[lead:]
        marked = takewhile(
            lambda row: row and not is_title(row) and all(c.is_header or not c.text for c in row),
            rows,
        )
        header = header or sum(1 for _ in marked)
        names = rows[:header] or find_header(rows)
        below = rows[len(names) :]
        lines = row_lines(below, names) if below else row_lines(rows, ())
        return [*row_lines(self.rows[:lead], ()), *lines]

    def _fill(self, most: int) -> None:
        """Append cells that extend down from above; unless `most` is 0, fill gaps before them."""
        row = self.rows[-1] if self.rows else []
        while self._here:
            if held := self._here.pop(len(row), None):
                row.append(held)
            elif most and max(self._here) > len(row):
                row.append(_EMPTY)
            else:
                break


def row_lines(rows: Iterable[Sequence[Cell]], header: Sequence[Sequence[Cell]]) -> list[str]:
    """Return a line for each row below the header rows; without a header, bars separate cells."""
    names = column_names(header)
    lines = (_row_line(names, row) if header else _bare(row) for row in rows)
    return list(filter(None, lines))


def _row_line(names: Sequence[str], row: Sequence[Cell]) -> str:
    """Write a row with its column names, as in `North; 2020: 12 crowns; 2021: 14 crowns`."""
    said: list[str] = []
    filled = [cell for cell in row if cell.text]
    is_one = len(row) > 1 and len({id(cell) for cell in filled}) == 1
    spans_all = is_one and (len(filled) > 1 or bool(row[0].text))  # names the rows below
    end = 0
    for _, places in groupby(row, key=id):
        covered = list(places)
        start, end = end, end + len(covered)
        if text := covered[0].text:
            own = "" if spans_all else ", ".join(dict.fromkeys(filter(None, names[start:end])))
            name = own[:_MOST_NAME]
            said.append(f"{name}: {text}" if name and name != text else text)
    return "; ".join(said)


def find_header(rows: Sequence[Sequence[Cell]]) -> Sequence[Sequence[Cell]]:
    """Return the rows that name the columns of the others: none, the first, or the first two.

    Their cells must be short and distinct, and must not be numbers except years and dates above
    something else. There must be at least three columns, or numbers of one kind below: two columns
    of words may have no header, and numbers of several kinds are the values of a form.
    """
    if two := _two_rows(rows):
        return two
    if len(rows) < 2 or len(rows[0]) < 2:
        return ()
    first = [cell.text for cell in rows[0]]
    named = [text for text in first if text]
    if len(set(named)) < len(first) - 1 or len(named) < 2 or (len(first) == 2 and not first[1]):
        return ()
    if len({cell.is_header for cell in rows[0]}) > 1:  # the first cell names its row
        return ()
    columns = [(text, _column(rows[1:], n)) for n, text in enumerate(first) if text]
    if not all(_is_name(*column) for column in columns):
        return ()
    # Names are lost if no value is below them, or if every row is a single text.
    is_single = all(len({id(cell) for cell in row if cell.text}) < 2 for row in rows[1:])
    if is_single or sum(any(values) for _, values in columns) < 2:
        return ()
    below = [cell.text for row in rows[1:] for cell in row[1:] if cell.text]
    if len(first) == 2 and (first[0].endswith(":") or not _is_of_one_kind(below)):
        return ()
    return rows[:1]


def _two_rows(rows: Sequence[Sequence[Cell]]) -> list[Sequence[Cell]]:
    """Return the first two rows if the second one divides columns that the first one names.

    A blank cell after a name in the first row counts as covered by the name.
    """
    if len(rows) < 3 or not 2 < len(rows[0]) == len(rows[1]):
        return []
    top, second = [*rows[0]], rows[1]
    for n, cell in enumerate(second):
        if n and cell.text and not top[n].text:
            top[n] = top[n - 1]
    shares = [left is right and bool(left.text) for left, right in pairwise(top)]
    divided = [any(shares[max(0, n - 1) : n + 1]) for n in range(len(top))]
    for n, (above, cell) in enumerate(zip(top, second, strict=True)):
        name = cell if divided[n] else above
        if divided[n] and (cell is above or not cell.text):
            return []
        if not divided[n] and cell.text not in {"", above.text} and above.text:
            return []
        if (n and not name.text) or (name.text and not _is_name(name.text, _column(rows[2:], n))):
            return []
    names = [(above.text, cell.text) for above, cell in zip(top, second, strict=True)]
    return [top, second] if any(divided) and len(set(names)) == len(names) else []


def _column(rows: Sequence[Sequence[Cell]], place: int) -> list[str]:
    return [row[place].text for row in rows if place < len(row)]


def _is_name(text: str, below: Sequence[str]) -> bool:
    """Return whether a text may name a column with these values."""
    if _DATE.fullmatch(text):
        return not any(map(_DATE.fullmatch, below))
    is_value = _NUMBER.fullmatch(text) and not _YEAR.fullmatch(text)
    return not is_value and len(text.split()) <= _HEADER_WORDS


def _is_of_one_kind(values: Sequence[str]) -> bool:
    """Return whether most values are numbers that differ only in their digits."""
    numbers = [value for value in values if _NUMBER.fullmatch(value)]
    kinds = {_DIGITS.sub("", value.strip("-−–+() ")) for value in numbers}
    return 2 * len(numbers) > len(values) and 2 * len(kinds) <= max(2, len(numbers))


def column_names(rows: Sequence[Sequence[Cell]]) -> list[str]:
    """Return the name of each column: the text of the header `rows` above it."""
    width = max(map(len, rows), default=0)
    columns = [[row[n].text for row in rows if n < len(row)] for n in range(width)]
    return [" ".join(dict.fromkeys(filter(None, column)))[:_MOST_NAME] for column in columns]


def _bare(row: Sequence[Cell]) -> str:
    said = [cell.text for n, cell in enumerate(row) if not n or row[n - 1] is not cell]
    while said and not said[-1]:
        said.pop()
    if len(said) == 2 and said[0]:
        is_named = row[0].is_header and not row[-1].is_header
        if is_named or said[0].endswith(":"):
            return f"{said[0].rstrip(':')}: {said[1]}"
    return " | ".join(said).strip()


@dataclass
class Row:
    """A row that is not blank."""

    number: int
    cells: dict[int, Cell]
    """By column, from 1; a merged cell stands in every column that it covers."""


def table_parts(
    rows: Sequence[Row],
    title: str,
    location: str,
    headings: tuple[str, ...] = (),
    *,
    named: bool = False,
) -> list[Part]:
    """Return a part below the headings for each table of a sheet; blank rows separate tables.

    With `named`, the sheet's first row names the columns, whatever it looks like.
    """
    return [
        _part(table, title, location, headings, named=named and not place)
        for place, table in enumerate(one for rows in _tables(rows) for one in _beside(rows))
    ]


def _tables(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield tables: consecutive rows, and rows below the same column names after a gap."""
    begin = 0
    for place in range(1, len(rows) + 1):
        ends = place == len(rows)
        if not ends and rows[place].number > rows[place - 1].number + 1:
            below = _grid(rows[place : place + _LOOK_AT])
            # A gap ends a table of one row, and any table if column names or a lone cell follow.
            ends = bool(find_header(below)) or len(rows[place].cells) < 2 or place - begin < 2
        if ends:
            yield rows[begin:place]
            begin = place


def _beside(rows: Sequence[Row]) -> Sequence[Sequence[Row]]:
    """Return the two tables that a blank column separates, or the rows if they are one table.

    Two tables have their own column names, begin with words, and have a title each, or one goes on
    below the other. Read as one, their rows would seem to belong together.
    """
    used = {column for row in rows for column, cell in row.cells.items() if cell.text}
    blank = sorted(set(range(min(used, default=0), max(used, default=0))) - used)
    if not blank or blank[-1] - blank[0] >= len(blank):  # blank columns in several places
        return [rows]
    sides = [_columns(rows, range(blank[0])), _columns(rows, range(blank[-1], max(used) + 1))]
    if not all(map(_is_table, sides)):
        return [rows]
    left, right = (side[-1].number for side in sides)
    below = sum(row.number > right for row in sides[0])
    titled = all(len(side[0].cells) == 1 and len(side) > 2 for side in sides)
    return sides if titled or right > left or below > 1 else [rows]


def _columns(rows: Sequence[Row], columns: range) -> list[Row]:
    """Return the rows with the cells of these columns, without blank rows."""
    cut = (
        Row(row.number, {n: cell for n, cell in row.cells.items() if n in columns and cell.text})
        for row in rows
    )
    return [row for row in cut if row.cells]


def _is_table(rows: Sequence[Row]) -> bool:
    """Return whether rows have column names, maybe below a title, and then begin with words."""
    if len(rows) > 1 and len(rows[0].cells) == 1:
        rows = rows[1:]
    grid = _grid(rows[:_LOOK_AT]) if rows else []
    names = find_header(grid)
    return bool(names) and not any(_NUMBER.fullmatch(row[0].text) for row in grid[len(names) :])


def _grid(rows: Sequence[Row]) -> list[list[Cell]]:
    """Return the rows, from the first column that is not blank to the last."""
    columns = [column for row in rows for column in row.cells]
    across = range(min(columns), max(columns) + 1)
    return [[row.cells.get(column) or Cell("") for column in across] for row in rows]


def _part(
    rows: Sequence[Row], title: str, location: str, headings: tuple[str, ...], *, named: bool
) -> Part:
    # Rows with a single text above the column names are the table's title.
    lead = 0
    while lead < len(rows) - 2 and len({cell.text for cell in rows[lead].cells.values()}) == 1:
        lead += 1
    grid = _grid(rows)
    if not find_header(grid[lead : lead + _LOOK_AT]):
        lead = 0
    names = find_header(grid[lead : lead + _LOOK_AT]) or (grid[:1] if named else [])
    head = lead + len(names)
    numbered = [
        (row.number, line)
        for row, cells in zip(rows[head:], grid[head:], strict=True)
        for line in row_lines([cells], names)
    ]
    lines = [line for _, line in numbered]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    kept = [(start, start + len(line)) for start, line in zip(starts, lines, strict=False)]
    if not lines:  # nothing but column names
        lines = row_lines(grid, ())
    text = "\n".join(lines)
    above = " ".join(next(iter(row.cells.values())).text for row in rows[:lead])
    if above and above not in {title, *headings}:
        headings = (*headings, above)
    numbers = tuple(number for number, _ in numbered)
    return Part(
        text, 0, 0, len(text), title, headings, location=location, kept=tuple(kept), rows=numbers
    )
