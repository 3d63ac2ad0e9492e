"""The blocks of a `DoclingDocument`: the lines of each, and their places on the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby, takewhile
from operator import itemgetter, or_
from typing import TYPE_CHECKING, Any

from citeproof.pdfium import Area, Displayed
from citeproof.tools.documents.base import whole
from citeproof.tools.documents.pdf_notes import read_notes
from citeproof.tools.documents.tables import Cell, looks_like_header, row_lines

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument


@dataclass(frozen=True)
class Block:
    """A paragraph, a heading, an item of a list or a table; what each says on one page."""

    page: int
    lines: tuple[str, ...]
    """None of a picture or a table in which nothing was read. A paragraph has one for each column
    that it stands in."""
    areas: tuple[Area | None, ...]
    """Where each line stands on the page."""
    level: int = 0
    """Of a heading; 1 is the document's title."""
    listed: bool = False
    rows: bool = False
    """Whether the lines are those of a table."""


def read_blocks(document: Any) -> Iterator[Block]:
    """The blocks of a `DoclingDocument` in its reading order.

    Headers and footers of pages, which docling keeps apart, and tables of contents are left out.
    A paragraph that goes on on the next page is a block for each page; what has no place of its
    own stands on the page of the block before it.
    """
    page = 1
    for block in _below(document.body, document):
        page = block.page or page
        yield replace(block, page=page)


def _below(node: Any, document: Any) -> Iterator[Block]:
    for ref in node.children:
        item = ref.resolve(document)
        if item.content_layer != "body" or item.label == "document_index":
            continue
        if item.label == "table":
            yield from _table(item, document)
        elif item.label in ("picture", "chart"):
            yield from list(_below(item, document)) or (
                Block(own.page_no, (), ()) for own in item.prov
            )
        else:
            if hasattr(item, "text"):
                yield from _text(item, document)
            yield from _below(item, document)


def _text(item: Any, document: Any) -> Iterator[Block]:
    text = whole(item.text or item.orig)  # a formula that was not made TeX has the latter only
    level = {"title": 1, "section_header": getattr(item, "level", 0) + 1}.get(item.label, 0)
    mark = f"{item.marker or '-'} " if item.label == "list_item" else ""
    places = [(own.page_no, own.bbox) for own in item.prov] or [(0, None)]
    begins = [0, *(_word_start(text, own.charspan[0]) for own in item.prov[1:])]
    said = [
        (page, " ".join(text[begin:end].split()), box)
        for (page, box), begin, end in zip(places, begins, [*begins[1:], len(text)], strict=True)
    ]
    for page, pieces in groupby(filter(itemgetter(1), said), key=itemgetter(0)):
        lines, boxes = zip(*((line, box) for _, line, box in pieces), strict=True)
        areas = tuple(_around([box], document, page) for box in boxes)
        yield Block(page, (mark + lines[0], *lines[1:]), areas, min(level, 6), bool(mark))
        mark = ""


def _word_start(text: str, place: int) -> int:
    """Where the word at a place begins.

    Docling counts the hyphen of a word that two columns part, and then takes it out.
    """
    place = min(place, len(text))
    while place and not text[place - 1].isspace():
        place -= 1
    return place


def _table(table: Any, document: Any) -> Iterator[Block]:
    """The rows of a table between its captions and its footnotes."""
    notes = [
        one for one in (ref.resolve(document) for ref in table.children) if hasattr(one, "text")
    ]
    for note in notes:
        if note.label == "caption":
            yield from _text(note, document)
    yield from _rows(table, document)
    for note in notes:
        if note.label != "caption":
            yield from _text(note, document)


def _rows(table: Any, document: Any) -> Iterator[Block]:
    grid = table.data.grid
    known = {id(one): Cell(" ".join(whole(one.text).split())) for row in grid for one in row}
    cells = [[known[id(one)] for one in row] for row in grid]  # a merged one in all its places
    head = len(list(takewhile(_names, grid)))
    if not 0 < head < len(grid):
        head = int(looks_like_header([[one.text for one in row] for row in cells]))
    for own in table.prov[:1]:
        found: list[tuple[str, Area | None]] = []
        for row, said in zip(grid[head:], cells[head:], strict=True):
            area = _around((one.bbox for one in row), document, own.page_no)
            area = area or _area(own.bbox, document, own.page_no)
            found += [(line, area) for line in row_lines([*cells[:head], said], head)]
        lines, places = [line for line, _ in found], [area for _, area in found]
        yield Block(own.page_no, tuple(lines), tuple(places), rows=True)


def _names(row: Any) -> bool:
    """Whether a row names columns."""
    said = [one for one in row if one.text.strip()]
    return bool(said) and all(one.column_header for one in said)


def _around(boxes: Iterable[Any], document: Any, page: int) -> Area | None:
    """The rectangle around those that are known."""
    areas = [area for box in boxes if box and (area := _area(box, document, page))]
    return reduce(or_, areas) if areas else None


def _area(box: Any, document: Any, page: int) -> Area | None:
    size = document.pages[page].size if page in document.pages else None
    if size is None or not (size.width and size.height):
        return None
    sides = box.to_top_left_origin(size.height)
    return Area(
        sides.l / size.width, sides.t / size.height, sides.r / size.width, sides.b / size.height
    )


def noted_blocks(document: PdfDocument) -> Iterator[Block]:
    """A block for each field that is filled in, and for each note. PDFium's lock is held."""
    from pypdfium2 import PdfiumError

    for number in range(len(document)):
        try:
            page = document[number]
        except PdfiumError:
            continue  # docling says what it makes of such a page
        for note in read_notes(page, Displayed(page)):
            yield Block(number + 1, (note.text,), (note.area,))
        page.close()


def insert(blocks: list[Block], note: Block) -> None:
    """Put a field or note into the line left of it, or behind the block that begins above it."""
    [said], [area] = note.lines, note.areas
    assert area
    own = [(n, block) for n, block in enumerate(blocks) if block.page == note.page]
    middle = (area.top + area.bottom) / 2
    place, highest = min((n for n, _ in own), default=len(blocks)), -1.0
    for n, block in own:
        placed = list(zip(block.lines, block.areas, strict=True))
        if any(said in line and around and around.holds(area) for line, around in placed):
            return  # docling has read it: the form was made part of the page
        for _, around in placed[-1:]:
            if around and not block.rows and _beside(around, area):
                lines, areas = (*block.lines, said), (*block.areas, area)
                blocks[n] = replace(block, lines=lines, areas=areas)
                return
        for _, around in placed[:1]:
            if around and highest <= around.top <= middle:
                place, highest = n + 1, around.top
    blocks.insert(place, note)


def _beside(line: Area, note: Area) -> bool:
    return line.left < note.left and note.top <= (line.top + line.bottom) / 2 <= note.bottom
