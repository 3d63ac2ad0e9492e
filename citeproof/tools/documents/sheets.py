"""Reads Excel workbooks (extra `office`)."""

from __future__ import annotations

import datetime
import io
import warnings
from pathlib import Path
from typing import Any

from citeproof.errors import MissingExtraError
from citeproof.text import whole
from citeproof.tools.documents.archives import Archive
from citeproof.tools.documents.base import Document, Part, left_out, name_places, unusable
from citeproof.tools.documents.besides import read_besides
from citeproof.tools.documents.number_formats import show_number
from citeproof.tools.documents.tables import (
    Row,
    cell_of,
    fill_merged,
    sheet_headings,
    table_parts,
    write_comments,
)

_FIX = "Open it in Excel or LibreOffice and save it as .xlsx again."
_MOST_CELLS = 1_000_000
"""Maximum number of cells that are read from a workbook."""
_MOST_COLUMNS = 500


def read_xlsx(data: bytes, path: Path) -> Document:
    """Read an Excel workbook: a part per table, and a line per row, with the column names.

    Values are the last that Excel computed, formatted as Excel shows them where possible.
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
    wide: list[str] = []
    left, uncomputed = _MOST_CELLS, 0
    try:
        book = openpyxl.load_workbook(io.BytesIO(archive.data), read_only=True, data_only=True)
        for sheet in book.worksheets:
            beside = read_besides(archive, sheet._worksheet_path)
            sheet.reset_dimensions()  # the size in the file is often wrong
            rows: list[Row] = []
            where = f"sheet {sheet.title}"
            if sheet.sheet_state != "visible":
                where += " (hidden)"
            for row in sheet.iter_rows():
                left -= max(1, len(row))
                if left < 0:
                    told = f"at most {_MOST_CELLS:,} cells are read"
                    problems.append(f"{where} was cut off: {told}")
                    break
                cells = {
                    cell.column: cell_of(whole(_display(cell.value, cell.number_format)))
                    for cell in row
                    if cell.value is not None
                    and cell.column <= _MOST_COLUMNS
                    and not (cell.has_style and cell.font.strike)
                }
                if any(cell.text for cell in cells.values()):
                    number = next(cell.row for cell in row if cell.value is not None)
                    rows.append(Row(number, cells))
                if any(c.value is not None and c.column > _MOST_COLUMNS for c in row):
                    wide.append(sheet.title)
            fill_merged(rows, beside.merged)
            uncomputed += beside.uncomputed
            if not rows:
                empty.append(sheet.title)
            above = sheet_headings(sheet.title, path.stem)
            parts += table_parts(rows, path.stem, where, above)
            if text := "\n".join([*write_comments(beside.comments, rows), *beside.boxes]):
                parts.append(Part(text, 0, 0, len(text), path.stem, above, location=where))
    except Exception as error:  # a damaged workbook breaks openpyxl in many ways
        raise unusable(path, f"it is not a valid workbook ({error})", _FIX) from error
    if not parts:
        if not uncomputed:
            raise unusable(path, "no cell holds a value", "Leave it out.")
        why = "its formulas were never computed"
        raise unusable(path, why, "Open it in Excel and save it.")
    if uncomputed:
        problems.append(
            f"formulas without a computed value ({uncomputed:,}); open it in Excel and save it"
        )
    more = f"only the first {_MOST_COLUMNS} columns were read of sheet {{}}"
    problems += name_places({"no values in sheet {}": empty, more: [*dict.fromkeys(wide)]})
    pictures = sum(name.startswith(("xl/media/", "xl/charts/chart")) for name in archive.names)
    problems += left_out({"pictures, charts": pictures})
    return Document(str(path), path.stem, tuple(parts), tuple(problems))


def _display(value: Any, form: str) -> str:
    """Format a value; dates are ISO 8601, since their order differs between countries."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime.datetime):
        day, time = value.date().isoformat(), value.time()
        return f"{day} {_time(time)}" if time != datetime.time() else day
    if isinstance(value, datetime.time):
        return _time(value)
    if isinstance(value, datetime.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}" + (f":{seconds:02}" if seconds else "")
    if isinstance(value, int | float):
        return show_number(value, form or "General")
    return str(value)


def _time(time: datetime.time) -> str:
    return time.replace(microsecond=0).isoformat("auto" if time.second else "minutes")
