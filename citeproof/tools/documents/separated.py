"""Reads CSV and TSV."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from citeproof.tools.documents.base import Document, name_places, unusable
from citeproof.tools.documents.encodings import decode_any
from citeproof.tools.documents.tables import Row, cell_of, table_parts

_SAMPLE = 8_192
_MOST_ROWS = 50
_TOLD = re.compile(r"sep=([^\n])[ \t]*\n", re.IGNORECASE)
"""A line that Excel writes and reads."""
_MOST_FIELD = 1 << 20
_MOST_CELLS = 2_000_000


def read_csv(data: bytes, path: Path) -> Document:
    """Read separated values: a line for each row, with the column names.

    The separator is a tab in `.tsv` files, and what a first line such as `sep=;` says. Elsewhere it
    is the comma, semicolon, tab or bar, whichever separates the columns most evenly.
    """
    text, problems = decode_any(data, path)
    told = _TOLD.match(text)
    mark = (
        told[1] if told else "\t" if path.suffix.lower() == ".tsv" else _separator(text[:_SAMPLE])
    )
    csv.field_size_limit(_MOST_FIELD)
    rows: list[Row] = []
    left, number, unclosed = _MOST_CELLS, 0, list[int]()
    try:
        # Not the numbers of lines, since a cell may contain line breaks.
        records = enumerate(_records(text, mark), start=1)
        for number, (cells, is_closed) in islice(records, int(bool(told)), None):
            left -= len(cells)
            if left < 0:
                problems = (*problems, f"it was cut off at row {number:,}")
                break
            if not is_closed:
                unclosed.append(number)
            said = {n: cell_of(text) for n, text in enumerate(cells, start=1) if text.strip()}
            if said:
                rows.append(Row(number, said))
    except csv.Error as error:
        fix = "Look for a quotation mark that is not closed."
        raise unusable(path, f"its row {number + 1} is broken ({error})", fix) from error
    problems += (*name_places({"a quotation mark is not closed in row {}": unclosed}),)
    named = _is_named(rows)
    parts = table_parts(rows, path.stem, "", named=named)
    return Document(str(path), path.stem, tuple(parts), problems)


def _records(text: str, mark: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the cells of each row, and whether its quotation marks are closed.

    An unclosed one would make the rows below it a part of its cell, so these are read as if it were
    a letter.
    """
    lines = [f"{line}\n" for line in text.split("\n")]
    place, width = 0, 0
    while place < len(lines):
        rest = map(lines.__getitem__, range(place, len(lines)))
        reader = csv.reader(rest, delimiter=mark, skipinitialspace=True)
        cells = next(reader)
        end = place + reader.line_num
        if _are_rows(lines[place:end], mark, width):
            end -= 1  # the last line has the next quotation mark, which may be right
            bare = csv.reader(lines[place:end], delimiter=mark, quoting=csv.QUOTE_NONE)
            yield from ((cells, number > 0) for number, cells in enumerate(bare))
        else:
            width = len(cells) or width
            yield cells, True
        place = end


def _are_rows(lines: Sequence[str], mark: str, width: int) -> bool:
    """Return whether the lines of one record are rows: most have as many cells as the last row.

    A quoted text may have as many commas, so its quotation marks must be wrong too.
    """
    said = [line for line in lines if line.strip()]
    rows = sum(line.count(mark) == width - 1 for line in said)
    if len(said) < 2 or width < 2 or 4 * rows < 3 * len(said):
        return False
    try:
        next(csv.reader(lines, delimiter=mark, skipinitialspace=True, strict=True))
    except csv.Error:
        return True
    return mark == "\t"


def _is_named(rows: list[Row]) -> bool:
    """Return whether the first row consists of distinct words, which then name the columns."""
    if len(rows) < 2:
        return False
    first = [cell.text for cell in rows[0].cells.values()]
    words = [text for text in first if not text.replace(".", "").replace(",", "").isdigit()]
    is_wide = len(first) >= max(len(row.cells) for row in rows[:20])
    return len(first) > 1 and is_wide and len(set(words)) == len(first)


def _separator(sample: str) -> str:
    """Return the mark that cuts most lines into the same number of cells.

    A comma loses to another mark if it stands between digits only: `A;1,5`.
    """
    is_decimal = not re.search(r"(?<!\d),|,(?!\d)", sample)

    def rank(mark: str) -> tuple[int, bool, int, bool]:
        rows = csv.reader(sample.splitlines(keepends=True), delimiter=mark, skipinitialspace=True)
        try:
            widths = Counter(len(row) for row in islice(rows, _MOST_ROWS) if any(row))
        except csv.Error:
            widths = Counter()
        widths.pop(1, 0)
        width, count = max(widths.items(), key=lambda one: (one[1], one[0]), default=(0, 0))
        return count, mark != "," or not is_decimal, width, mark == ","

    return max(",;\t|", key=rank)
