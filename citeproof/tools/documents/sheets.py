"""Reads Excel workbooks (extra `office`)."""

from __future__ import annotations

import datetime
import io
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citeproof.errors import MissingExtraError
from citeproof.text import whole
from citeproof.tools.documents.archives import Archive
from citeproof.tools.documents.base import Document, Part, left_out, name_places, unusable
from citeproof.tools.documents.number_formats import show_number
from citeproof.tools.documents.tables import Row, cell_of
from citeproof.tools.documents.workbook import Comment, Merged, Sheet

_FIX = "Open it in Excel or LibreOffice and save it as .xlsx again."
_MOST_CELLS = 1_000_000
"""Maximum number of cells that are read from a workbook."""
_MOST_COLUMNS = 500
_UNCOMPUTED = re.compile(
    rb'<c\b(?![^>]*\bt="str")[^>]*>\s*<f\b(?:[^>]*/>|[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>'
)
"""A formula without a value. The value of one of type `str` may be an empty text."""
_MOST_MERGED = 1_000
_MOST_NOTES = 10_000
_THREAD = "[Threaded comment]"
"""Begins a notice to old versions of Excel, which the comment follows."""


def read_xlsx(data: bytes, path: Path) -> Document:
    """Read an Excel workbook: a part per table, and a line per row, with the column names.

    Values are the last that Excel computed, formatted as Excel shows them where possible.
    """
    with MissingExtraError.unless_installed("office", "Excel files cannot be read"):
        import openpyxl  # noqa: F401
    # openpyxl warns of features that it cannot write back.
    with warnings.catch_warnings(action="ignore"):
        return _workbook(data, path)


def _workbook(data: bytes, path: Path) -> Document:
    import openpyxl

    archive = Archive(data, path, _FIX)
    parts: list[Part] = []
    problems: list[str] = []
    empty: list[str] = []
    wide: dict[str, None] = {}
    uncomputed, left = 0, _MOST_CELLS
    try:
        book = openpyxl.load_workbook(io.BytesIO(archive.data), read_only=True, data_only=True)
        for worksheet in book.worksheets:
            shown = "" if worksheet.sheet_state == "visible" else " (hidden)"
            sheet = Sheet(worksheet.title, f"sheet {worksheet.title}{shown}")
            _read_besides(archive, worksheet._worksheet_path, sheet)
            worksheet.reset_dimensions()  # the size in the file is often wrong
            for row in worksheet.iter_rows():
                left -= max(1, len(row))
                if left < 0:
                    problems.append(sheet.cut_off(_MOST_CELLS))
                    break
                filled = [cell for cell in row if cell.value is not None]
                cells = {
                    cell.column: cell_of(whole(_display(cell.value, cell.number_format)))
                    for cell in filled
                    if cell.column <= _MOST_COLUMNS and not (cell.has_style and cell.font.strike)
                }
                if any(cell.text for cell in cells.values()):
                    sheet.rows.append(Row(filled[0].row, cells))
                if any(cell.column > _MOST_COLUMNS for cell in filled):
                    wide[sheet.name] = None
            uncomputed += sheet.uncomputed
            if not sheet.rows:
                empty.append(sheet.name)
            parts += sheet.parts(path.stem)
    except Exception as error:  # a damaged workbook breaks openpyxl in many ways
        raise unusable(path, f"it is not a valid workbook ({error})", _FIX) from error
    if not parts and uncomputed:
        raise unusable(path, "its formulas were never computed", "Open it in Excel and save it.")
    if not parts:
        raise unusable(path, "no cell holds a value", "Leave it out.")
    if uncomputed:
        problems.append(
            f"formulas without a computed value ({uncomputed:,}); open it in Excel and save it"
        )
    more = f"only the first {_MOST_COLUMNS} columns were read of sheet {{}}"
    problems += name_places({"no values in sheet {}": empty, more: [*wide]})
    pictures = sum(name.startswith(("xl/media/", "xl/charts/chart")) for name in archive.names)
    problems += left_out({"pictures, charts": pictures})
    return Document(str(path), path.stem, tuple(parts), tuple(problems))


def _read_besides(archive: Archive, name: str, sheet: Sheet) -> None:
    """Read into `sheet` what a worksheet has besides values; `name` is its archive member."""
    data, related = archive.read(name), archive.related(name)
    sheet.merged += _merged(data)
    sheet.uncomputed = sum(1 for _ in _UNCOMPUTED.finditer(data))
    if "comments" in related:
        sheet.comments += _comments(archive, related["comments"])
    if "drawing" in related:
        sheet.boxes += _boxes(archive, related["drawing"])


def _merged(data: bytes) -> Iterator[Merged]:
    from openpyxl.utils import range_boundaries

    found = data.partition(b"<mergeCells")[2].split(b'ref="')[1:_MOST_MERGED]
    ranges = (one.partition(b'"')[0].decode("ascii", "replace") for one in found)
    yield from (range_boundaries(one) for one in ranges if ":" in one)


def _comments(archive: Archive, name: str) -> Iterator[Comment]:
    root = archive.xml(name)
    authors = [author.text or "" for author in root.iter("{*}author")]
    for comment in [*root.iter("{*}comment")][:_MOST_NOTES]:
        text = " ".join(whole("".join(comment.itertext("{*}t"))).split())
        if text.startswith(_THREAD):
            text = text.rpartition("Comment: ")[2]
        place = comment.get("authorId", "")
        author = authors[int(place)] if place.isdigit() and int(place) < len(authors) else ""
        author = "" if author.startswith("tc=") else author  # the id of a thread
        cell = comment.get("ref", "")
        row = re.sub(r"\D", "", cell)[:7]
        if text:
            yield int(row or 0), cell, author, text.removeprefix(f"{author}: ")


def _boxes(archive: Archive, name: str) -> Iterator[str]:
    for box in [*archive.xml(name).iter("{*}txBody")][:_MOST_NOTES]:
        lines = ("".join(one.itertext("{*}t")) for one in box.iter("{*}p"))
        if text := " ".join(whole(" ".join(lines)).split()):
            yield text


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
