"""The blocks of a PDF, as docling's models find them, and its fields and notes among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import reduce
from itertools import takewhile
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

from citeproof.pdfium import Area, Displayed
from citeproof.text import whole
from citeproof.tools.documents.pdf_notes import is_beside, read_notes
from citeproof.tools.documents.tables import cell_of, find_header, row_lines

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument


class Line(NamedTuple):
    """A stretch of text with one rectangle."""

    text: str
    area: Area | None
    """Its position on the page."""


@dataclass(frozen=True)
class Block:
    """The part of a paragraph, heading, list item or table on one page."""

    page: int
    lines: tuple[Line, ...] = ()
    """Empty for a picture or table in which nothing was read. A paragraph has one line for each
    column that it spans."""
    level: int = 0
    """Level of a heading: 1 is the document's title, 0 no heading."""
    listed: bool = False
    rows: bool = False
    """Whether the lines are table rows."""

    @property
    def text(self) -> str:
        """The words of its lines."""
        return " ".join(line for line, _ in self.lines)


def read_blocks(document: Any) -> Iterator[Block]:
    """Yield the blocks of a `DoclingDocument` in its reading order.

    Page headers and footers, which docling keeps apart, and tables of contents are left out. A
    paragraph that continues on the next page gives a block for each page. A block without a
    position belongs to the page of the previous block.
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
            yield from list(_below(item, document)) or (Block(own.page_no) for own in item.prov)
        else:
            if hasattr(item, "text"):
                yield from _text(item, document)
            yield from _below(item, document)


def _text(item: Any, document: Any) -> Iterator[Block]:
    text = whole(item.text or item.orig)  # a formula not converted to TeX has only `orig`
    level = {"title": 1, "section_header": getattr(item, "level", 0) + 1}.get(item.label, 0)
    listed = item.label == "list_item"
    mark = f"{item.marker or '-'} " if listed else ""
    places = [(own.page_no, own.bbox) for own in item.prov] or [(0, None)]
    begins = [0, *(_word_start(text, own.charspan[0]) for own in item.prov[1:])]
    found: dict[int, list[Line]] = {}
    for (page, box), begin, end in zip(places, begins, [*begins[1:], len(text)], strict=True):
        if said := " ".join(text[begin:end].split()):
            line = Line(mark + said, _around([box], document, page))
            found.setdefault(page, []).append(line)
            mark = ""
    for page, lines in found.items():
        yield Block(page, tuple(lines), min(level, 6), listed)


def _word_start(text: str, place: int) -> int:
    """Return the offset at which the word at `place` begins.

    Docling counts the hyphen of a word that is split across columns, and then removes it.
    """
    place = min(place, len(text))
    while place and not text[place - 1].isspace():
        place -= 1
    return place


def _table(table: Any, document: Any) -> Iterator[Block]:
    """Yield the captions of a table, its rows, and its footnotes."""
    texts = [one for ref in table.children if hasattr(one := ref.resolve(document), "text")]
    for caption in (one for one in texts if one.label == "caption"):
        yield from _text(caption, document)
    yield from _rows(table, document)
    for note in (one for one in texts if one.label != "caption"):
        yield from _text(note, document)


def _rows(table: Any, document: Any) -> Iterator[Block]:
    grid = table.data.grid
    known = {id(one): cell_of(whole(one.text)) for row in grid for one in row}
    cells = [[known[id(one)] for one in row] for row in grid]  # merged cells repeated
    head = len(list(takewhile(_names, grid)))
    header = cells[:head] if 0 < head < len(grid) else find_header(cells)
    for own in table.prov[:1]:
        lines: list[Line] = []
        for row, said in zip(grid[len(header) :], cells[len(header) :], strict=True):
            area = _around((one.bbox for one in row), document, own.page_no)
            area = area or _area(own.bbox, document, own.page_no)
            lines += [Line(line, area) for line in row_lines([said], header)]
        yield Block(own.page_no, tuple(lines), rows=True)


def _names(row: Any) -> bool:
    """Return whether a row names columns."""
    said = [one for one in row if one.text.strip()]
    return bool(said) and all(one.column_header for one in said)


def _around(boxes: Iterable[Any], document: Any, page: int) -> Area | None:
    """Return the smallest rectangle around the boxes whose position is known."""
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
    """Yield a block for each filled field and each note. The caller holds PDFium's lock."""
    from pypdfium2 import PdfiumError

    for number in range(len(document)):
        # Docling itself reports a page that cannot be read.
        with suppress(PdfiumError), closing(document[number]) as page:
            for note in read_notes(page, Displayed(page)):
                yield Block(number + 1, (Line(note.text, note.area),))


def insert_note(blocks: list[Block], note: Block) -> None:
    """Add a field or note to the line on its left, or after the nearest block above it."""
    [(said, area)] = note.lines
    assert area
    own = [(n, block) for n, block in enumerate(blocks) if block.page == note.page]
    middle = (area.top + area.bottom) / 2
    place, highest = min((n for n, _ in own), default=len(blocks)), -1.0
    for n, block in own:
        if any(said in line and around and around.holds(area) for line, around in block.lines):
            return  # docling has read it: the form was flattened into the page
        for _, around in block.lines[-1:]:
            if around and not block.rows and is_beside(around, area):
                blocks[n] = replace(block, lines=(*block.lines, *note.lines))
                return
        for _, around in block.lines[:1]:
            if around and highest <= around.top <= middle:
                place, highest = n + 1, around.top
    blocks.insert(place, note)
