"""Reads Excel workbooks (extra `office`)."""

from __future__ import annotations

import datetime
import io
import re
import warnings
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from citeproof.errors import MissingExtraError
from citeproof.tools.documents.archives import Archive
from citeproof.tools.documents.base import Document, Part, left_out, unusable, whole
from citeproof.tools.documents.tables import Row, cell_of, table_parts

_FIX = "Open it in Excel or LibreOffice and save it as .xlsx again."
_MOST_CELLS = 1_000_000
"""Maximum number of cells that are read from a workbook."""
_MOST_COLUMNS = 500
_MERGED = 50_000
"""Total cells that merged cells may cover; further merged cells are not expanded."""
_LITERAL = re.compile(r'"([^"]*)"|\[\$([^\]-]*)[^\]]*\]|\\(.)|([$€£¥%])')
_DIGITS = re.compile(r"[#0?][#0?,. ]*")
_SAID = re.compile(r'"[^"]*"|\[[^\]]*\]')
"""Quoted words, and colours, currencies and conditions in brackets."""
_ASIDE = re.compile(r"_.|\*.|\[(?!\$)[^\]]*\]")


def read_xlsx(data: bytes, path: Path) -> Document:
    """Read an Excel workbook: a part per table, and a line per row, with the column names.

    Values are the last that Excel computed, formatted as Excel shows them where possible.

    Raises:
        DocumentError: The file is not a valid workbook.
        MissingExtraError: The extra `office` is not installed.
    """
    with MissingExtraError.unless_installed("office", "Excel files cannot be read"):
        import openpyxl  # noqa: F401
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from openpyxl, about features that it cannot write back
        return _workbook(data, path)


def _workbook(data: bytes, path: Path) -> Document:
    import openpyxl

    archive = Archive(data, path, _FIX)
    parts: list[Part] = []
    problems: list[str] = []
    empty: list[str] = []
    left = _MOST_CELLS
    try:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        merged = chain(_merged_cells(archive), repeat([]))
        for sheet, ranges in zip(book.worksheets, merged, strict=False):
            sheet.reset_dimensions()  # the size in the file is often wrong
            rows: list[Row] = []
            cut = False
            for row in sheet.iter_rows():
                left -= max(1, len(row))
                if left < 0:
                    cut = True
                    break
                cells = {
                    cell.column: cell_of(whole(_display(cell.value, cell.number_format)))
                    for cell in row
                    if cell.value is not None and cell.column <= _MOST_COLUMNS
                }
                if any(cell.text for cell in cells.values()):
                    number = next(cell.row for cell in row if cell.value is not None)
                    rows.append(Row(number, cells))
            _fill(rows, ranges)
            where = f"sheet {sheet.title}"
            if sheet.sheet_state != "visible":
                where += " (hidden)"
            if not rows:
                empty.append(sheet.title)
            if cut:
                problems.append(f"{where} was cut off: at most {_MOST_CELLS:,} cells are read")
            parts += table_parts(rows, path.stem, where)
        formulas = not parts and any(
            b"<f>" in archive.read(name)
            for name in archive.names
            if name.startswith("xl/worksheets/sheet")
        )
    except Exception as error:  # a damaged workbook breaks openpyxl in many ways
        raise unusable(path, f"it is not a valid workbook ({error})", _FIX) from error
    if not parts:
        why = "its formulas were never computed" if formulas else "no cell holds a value"
        raise unusable(path, why, "Open it in Excel and save it." if formulas else "Leave it out.")
    if empty:
        problems.append("no values in sheet " + ", ".join(empty[:8]))
    pictures = sum(name.startswith(("xl/media/", "xl/charts/chart")) for name in archive.names)
    problems += left_out({"pictures, charts": pictures})
    return Document(str(path), path.stem, tuple(parts), tuple(problems))


def _merged_cells(archive: Archive) -> Iterator[list[tuple[int, int, int, int]]]:
    """Yield the merged cells of each sheet, which openpyxl does not give in read-only mode."""
    from openpyxl.utils import range_boundaries

    main = archive.related("").get("officeDocument", "xl/workbook.xml")
    folder, _, file = main.rpartition("/")
    targets = {
        one.get("Id"): one.get("Target", "") for one in archive.xml(f"{folder}/_rels/{file}.rels")
    }
    for sheet in archive.xml(main).iter("{*}sheet"):
        relation = next((value for key, value in sheet.items() if key.endswith("}id")), "")
        target = targets.get(relation, "").lstrip("/")
        name = target if target in archive.names else f"{folder}/{target}"
        if "worksheets/" in name:
            found = archive.read(name).partition(b"<mergeCells")[2].split(b'ref="')[1:1000]
            ranges = (one.partition(b'"')[0].decode("ascii", "replace") for one in found)
            yield [range_boundaries(one) for one in ranges if ":" in one]


def _fill(rows: list[Row], ranges: list[tuple[int, int, int, int]]) -> None:
    """Copy merged cells into all cells that they cover, in rows that are not blank."""
    known = {row.number: row for row in rows}
    left = _MERGED
    for first, top, last, bottom in ranges:
        if top not in known or first not in known[top].cells:
            continue
        if (left := left - (last - first + 1) * (bottom - top + 1)) < 0:
            return
        for number in range(top, bottom + 1):
            if number in known:
                merged = dict.fromkeys(range(first, last + 1), known[top].cells[first])
                known[number].cells.update(merged)


def _display(value: Any, form: str) -> str:
    """Format a value; dates are ISO 8601, since their order differs between countries."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime.datetime):
        day, time = value.date().isoformat(), value.time().replace(microsecond=0)
        shown = time.isoformat("auto" if time.second else "minutes")
        return f"{day} {shown}" if time != datetime.time() else day
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        return str(value)
    if isinstance(value, int | float):
        return _number(value, form or "General")
    return str(value)


def _number(value: float, form: str) -> str:
    """Format a number as its format says if that is supported, or else as a plain number."""
    positive, *others = form.split(";")
    negative = others[0] if value < 0 and others and others[0].strip() else ""
    section = _ASIDE.sub("", negative or positive)
    digits = _DIGITS.search(_SAID.sub(lambda found: " " * len(found[0]), section))
    if not digits or "E" in section.upper() or "General" in section or "/" in section:
        is_whole = float(value).is_integer() and abs(value) < 1e15
        return str(int(value)) if is_whole else f"{value:.12g}"
    shown = abs(value) * (100 if "%" in _SAID.sub("", section) else 1)
    pattern = digits[0].strip(" ,")
    decimals = pattern.partition(".")[2]
    text = f"{shown:{',' if ',' in pattern else ''}.{min(len(decimals), 12)}f}"
    if "#" in decimals:
        text = text.rstrip("0").rstrip(".")
    before, after = _literals(section[: digits.start()]), _literals(section[digits.end() :])
    sign = "-" if value < 0 and not others else ""
    return f"{sign}{before}{text}{after}".strip()


def _literals(piece: str) -> str:
    found = "".join(next(filter(None, match.groups()), "") for match in _LITERAL.finditer(piece))
    bare = _LITERAL.sub("", piece)
    signs = "".join(char for char in bare if char in "-+() ")
    return signs.rstrip() + found if signs.strip() in {"-", "("} else found + signs.rstrip()
