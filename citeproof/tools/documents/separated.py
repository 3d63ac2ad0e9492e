"""Reads CSV and TSV."""

from __future__ import annotations

import csv
from pathlib import Path

from citeproof.tools.documents.base import Document, unusable
from citeproof.tools.documents.encodings import decode_any
from citeproof.tools.documents.tables import Row, cell_of, table_parts

_SAMPLE = 8_192
_MOST_FIELD = 1 << 20
_MOST_CELLS = 2_000_000


def read_csv(data: bytes, path: Path) -> Document:
    """Read separated values: a line for each row, with the column names.

    The separator is a tab in `.tsv` files. Elsewhere it is the comma, semicolon, tab or bar,
    whichever separates the columns most evenly.

    Raises:
        DocumentError: The file is not text, or a quotation mark is not closed.
    """
    text, problems = decode_any(data, path)
    mark = "\t" if path.suffix.lower() == ".tsv" else _separator(text[:_SAMPLE])
    csv.field_size_limit(_MOST_FIELD)
    rows: list[Row] = []
    left = _MOST_CELLS
    lines = text.split("\n")
    try:
        for cells in (reader := csv.reader((f"{line}\n" for line in lines), delimiter=mark)):
            left -= len(cells)
            if left < 0:
                told = f"it was cut off at line {reader.line_num:,}"
                problems = (*problems, told)
                break
            said = {n: cell_of(text) for n, text in enumerate(cells, start=1) if text.strip()}
            if said:
                rows.append(Row(reader.line_num, said))
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
    lines = [line for line in sample.split("\n")[:20] if line.strip()]
    counts = {mark: [line.count(mark) for line in lines] for mark in ",;\t|"}
    return max(
        counts,
        key=lambda mark: (min(counts[mark], default=0), -len(set(counts[mark])), mark == ","),
    )
