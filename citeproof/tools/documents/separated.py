"""Reads CSV and TSV."""

from __future__ import annotations

import csv
import re
from collections import Counter
from itertools import islice
from pathlib import Path

from citeproof.tools.documents.base import Document, unusable
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
    left = _MOST_CELLS
    lines = (f"{line}\n" for line in text.split("\n"))
    reader = csv.reader(lines, delimiter=mark, skipinitialspace=True)
    try:
        # Not the numbers of lines, since a cell may contain line breaks.
        for number, cells in islice(enumerate(reader, start=1), int(bool(told)), None):
            left -= len(cells)
            if left < 0:
                problems = (*problems, f"it was cut off at line {reader.line_num:,}")
                break
            said = {n: cell_of(text) for n, text in enumerate(cells, start=1) if text.strip()}
            if said:
                rows.append(Row(number, said))
    except csv.Error as error:
        fix = "Look for a quotation mark that is not closed."
        raise unusable(path, f"its line {reader.line_num} is broken ({error})", fix) from error
    named = _is_named(rows)
    parts = table_parts(rows, path.stem, "", named=named)
    return Document(str(path), path.stem, tuple(parts), problems)


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
