"""Reads OpenDocument texts and spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citeproof.tools.documents.archives import Archive
from citeproof.tools.documents.base import (
    Document,
    Part,
    left_out,
    number,
    outlined,
    unusable,
    usable_title,
)
from citeproof.tools.documents.letters import FORMS, count_in, raised
from citeproof.tools.documents.pieces import Pieces
from citeproof.tools.documents.tables import Cell, Grid, Row, cell_of
from citeproof.tools.documents.workbook import Comment, Merged, Sheet

_FIX = "Open it in LibreOffice and save it again."
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_APART = {_TEXT + "note", _OFFICE + "annotation", _DRAW + "text-box"}
"""Elements inside a paragraph whose text comes after that of the paragraph."""
_PARAGRAPHS = (_TEXT + "p", _TEXT + "h")
_UNSAID = {_TEXT + "tracked-changes", _TEXT + "table-of-content", _OFFICE + "forms"}
_LABEL = "label"
"""Attribute of a list item, set here: its number."""
_MOST_CELLS = 1_000_000
_MOST_REPEATED = 500
_MOST_SPACES = 100


def read_odt(data: bytes, path: Path) -> Document:
    """Read an OpenDocument text: paragraphs and table rows in order, split at headings.

    Footnotes, comments and text boxes follow the paragraph that contains them.
    """
    archive, body = _open(data, path, "text")
    _number_items(body, archive)
    pieces = Pieces()
    _write(pieces, body)
    problems = left_out({"pictures": sum(1 for _ in body.iter(_DRAW + "image"))})
    return outlined(path, *pieces.result(), title=_title(archive), problems=problems)


def read_ods(data: bytes, path: Path) -> Document:
    """Read an OpenDocument spreadsheet: a line for each row, with the column names.

    Comments follow the rows of their sheet.
    """
    archive, body = _open(data, path, "spreadsheet")
    title = _title(archive) or path.stem
    parts: list[Part] = []
    problems: list[str] = []
    left = _MOST_CELLS
    for table in body.iter(_TABLE + "table"):
        name = table.get(_TABLE + "name", "")
        sheet, place = Sheet(name, f"sheet {name}"), 1
        for row in table.iter(_TABLE + "table-row"):
            repeated = _number(row, "number-rows-repeated")
            sheet.merged += _merged(row, place)
            sheet.comments += _comments(row, place)
            if values := _cells(row):
                count = min(repeated, _MOST_REPEATED)
                sheet.rows += (Row(place + again, values) for again in range(count))
                left -= count * len(values)
            place += repeated
            if left < 0:
                problems.append(sheet.cut_off(_MOST_CELLS))
                break
        parts += sheet.parts(title)
    if not parts:
        raise unusable(path, "no cell holds a value", "Leave it out.")
    return Document(str(path), title, tuple(parts), tuple(problems))


def _open(data: bytes, path: Path, kind: str) -> tuple[Archive, Any]:
    archive = Archive(data, path, _FIX)
    body = archive.xml("content.xml").find(f"{_OFFICE}body/{_OFFICE}{kind}")
    if body is None:
        encrypted = b"encryption-data" in archive.read("META-INF/manifest.xml")
        why = "it is encrypted" if encrypted else f"it is not an OpenDocument {kind}"
        raise unusable(path, why, _FIX)
    _write_out_scripts(body)
    return archive, body


def _write_out_scripts(body: Any) -> None:
    """Raise the digits of superscripts, and empty struck-out text."""
    properties = body.getroottree().getroot().iter(_STYLE + "text-properties")
    styles = {one.getparent().get(_STYLE + "name"): one for one in properties}
    for span in [*body.iter(_TEXT + "span")]:  # some are deleted
        style = styles.get(span.get(_TEXT + "style-name"))
        if style is None:
            continue
        if style.get(_STYLE + "text-line-through-style", "none") != "none":
            span.text = ""
            del span[:]
        elif style.get(_STYLE + "text-position", "").startswith("super"):
            span.text = raised(span.text or "")


def _number_items(body: Any, archive: Archive) -> None:
    """Give the items of numbered lists their numbers, unless these contain those of outer lists."""
    roots = [archive.xml("styles.xml")] if "styles.xml" in archive.names else []
    levels = {
        (one.getparent().get(_STYLE + "name"), _number(one, "level", _TEXT)): one
        for root in (*roots, body.getroottree().getroot())
        for one in root.iter(_TEXT + "list-level-style-number")
    }
    last: dict[Any, int] = {}
    for each in body.iter(_TEXT + "list"):
        around = [each, *each.iterancestors(_TEXT + "list")]
        style = next(filter(None, (one.get(_TEXT + "style-name") for one in around)), "")
        level = levels.get((style, len(around)))
        if level is None or _number(level, "display-levels", _TEXT) > 1:
            continue
        form = FORMS.get(level.get(_STYLE + "num-format"), "")
        before, after = (level.get(f"{_STYLE}num-{side}", "") for side in ("prefix", "suffix"))
        count = _number(level, "start-value", _TEXT) - 1
        if each.get(_TEXT + "continue-numbering") == "true" or each.get(_TEXT + "continue-list"):
            count = last.get(level, count)
        for item in each.iterchildren(_TEXT + "list-item") if form else ():
            if next(item.iterchildren(), each).tag != _TEXT + "list":  # it has a text of its own
                count = number(item.get(_TEXT + "start-value", ""), count + 1)
                item.set(_LABEL, f"{before}{count_in(form, count)}{after}")
        last[level] = count


def _title(archive: Archive) -> str:
    if "meta.xml" not in archive.names:
        return ""
    return usable_title(archive.xml("meta.xml").findtext(f".//{_DC}title", ""))


def _write(pieces: Pieces, body: Any) -> None:
    """Add the elements of a body, without recursion, since they may be nested to any depth."""
    waiting = [*reversed(body)]
    while waiting:
        element = waiting.pop()
        tag = element.tag
        if tag in _PARAGRAPHS:
            _paragraph(pieces, element)
        elif tag == _TABLE + "table":
            _table(pieces, element)
        elif isinstance(tag, str) and tag not in _UNSAID:
            waiting += reversed(element)


def _paragraph(pieces: Pieces, element: Any) -> None:
    item = next(element.iterancestors(_TEXT + "list-item"), None)
    gap = "\n" if item is not None else "\n\n"
    pieces.end_line(gap)
    start, said = pieces.place, _say(element)
    if item is not None and item[0] is element and element.tag == _TEXT + "p" and said.strip():
        pieces.mark(f"{item.get(_LABEL, '-')} ")
    pieces.add(said)
    pieces.mark("")
    if element.tag == _TEXT + "h":
        pieces.heading(start, min(_number(element, "outline-level", _TEXT), 6))
    pieces.end_line(gap)
    _aside(pieces, element)


def _aside(pieces: Pieces, element: Any) -> None:
    """Add the notes, comments and text boxes of a paragraph or table."""
    for apart in element.iter(*_APART):
        said = " ".join(filter(None, map(_say, apart.iter(*_PARAGRAPHS))))
        kind = {_TEXT + "note": "Footnote: ", _OFFICE + "annotation": "Comment: "}
        if said and next(apart.iterancestors(*_APART), None) is None:
            pieces.line(kind.get(apart.tag, "") + said)


def _table(pieces: Pieces, table: Any) -> None:
    grid, header = Grid(), 0
    apart = {one for each in table.iter(*_APART) for one in each.iter(*_PARAGRAPHS)}
    for row in table.iter(_TABLE + "table-row"):
        if next(row.iterancestors(_TABLE + "table")) is not table:  # its cell says it all
            continue
        grid.start_row()
        header += row.getparent().tag == _TABLE + "table-header-rows"
        for cell in row.iterchildren(_TABLE + "table-cell"):
            own = [one for one in cell.iter(*_PARAGRAPHS) if one not in apart]
            said = " ".join(filter(None, map(_say, own)))
            across = _number(cell, "number-columns-spanned")
            for _ in range(min(_number(cell, "number-columns-repeated"), _MOST_REPEATED)):
                grid.add(said, across=across, down=_number(cell, "number-rows-spanned"))
    pieces.table(grid, header)
    _aside(pieces, table)


def _cells(row: Any) -> dict[int, Cell]:
    """Return the cells of a row that are not blank, as column → cell."""
    values: dict[int, Cell] = {}
    for column, cell in _placed(row):
        if said := " ".join(filter(None, map(_say, cell.iterchildren(_TEXT + "p")))):
            if day := cell.get(_OFFICE + "date-value", ""):  # the order of 02/03/24 is unknown
                said = day[:16].replace("T", " ").removesuffix(" 00:00")
            repeated = _number(cell, "number-columns-repeated")
            for place in range(min(repeated, _MOST_REPEATED)):
                values[column + place] = cell_of(said)
    return values


def _merged(row: Any, number: int) -> Iterator[Merged]:
    """Yield the merged cells that begin in a row."""
    for column, cell in _placed(row):
        across, down = (
            min(_number(cell, f"number-{side}-spanned"), _MOST_REPEATED)
            for side in ("columns", "rows")
        )
        if across > 1 or down > 1:
            yield column, number, column + across - 1, number + down - 1


def _comments(row: Any, number: int) -> Iterator[Comment]:
    for column, cell in _placed(row):
        for note in cell.iterchildren(_OFFICE + "annotation"):
            author = note.findtext(_DC + "creator", "").strip()
            if said := " ".join(" ".join(map(_say, note.iter(_TEXT + "p"))).split()):
                yield number, f"{_letters(column)}{number}", author, said


def _placed(row: Any) -> Iterator[tuple[int, Any]]:
    """Yield the cells of a row, each with its column from 1."""
    column = 1
    for cell in row.iterchildren(_TABLE + "table-cell", _TABLE + "covered-table-cell"):
        yield column, cell
        column += _number(cell, "number-columns-repeated")


def _letters(column: int) -> str:
    said = ""
    while column:
        column, place = divmod(column - 1, 26)
        said = chr(ord("A") + place) + said
    return said


def _say(element: Any) -> str:
    """Return the text of a paragraph."""
    said = [element.text or ""]
    waiting = [*reversed(element)]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            said.append(one)
            continue
        if one.tag == _TEXT + "s":
            said.append(" " * min(_number(one, "c", _TEXT), _MOST_SPACES))
        elif one.tag in {_TEXT + "tab", _TEXT + "line-break"}:
            said.append(" " if one.tag == _TEXT + "tab" else "\n")
        waiting.append(one.tail or "")
        if isinstance(one.tag, str) and one.tag not in _APART:
            waiting += reversed(one)
            said.append(one.text or "")
    return "".join(said).strip()


def _number(element: Any, name: str, space: str = _TABLE) -> int:
    return number(element.get(space + name, ""))
