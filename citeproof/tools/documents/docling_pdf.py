"""Reads PDF with docling's models for layout, tables and text recognition (extra `docling`)."""

from __future__ import annotations

import io
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import takewhile, zip_longest
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from citeproof.errors import MissingExtraError, ModelError
from citeproof.pdfium import LOCK, Area, Displayed, open_pdf
from citeproof.text import whole
from citeproof.tools.documents.base import (
    Document,
    Part,
    name_places,
    sections,
    unusable,
    usable_title,
)
from citeproof.tools.documents.pdf_flow import place_box
from citeproof.tools.documents.pdf_notes import is_beside, read_notes
from citeproof.tools.documents.pieces import Pieces
from citeproof.tools.documents.tables import cell_of, find_header, row_lines
from citeproof.types import Box

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument


class _Line(NamedTuple):
    text: str
    area: Area | None
    """Its position on the page."""


@dataclass(frozen=True)
class _Block:
    """The part of a paragraph, heading, list item or table on one page."""

    page: int
    lines: tuple[_Line, ...] = ()
    """Empty for a picture or table in which nothing was read. A paragraph has one line for each
    column that it spans."""
    level: int = 0
    """Level of a heading: 1 is the document's title, 0 no heading."""
    listed: bool = False
    rows: bool = False
    """Whether the lines are table rows."""

    @property
    def text(self) -> str:
        return " ".join(line for line, _ in self.lines)


def _read_blocks(document: Any) -> Iterator[_Block]:
    """Yield the blocks of a `DoclingDocument` in its reading order.

    Page headers and footers, which docling keeps apart, and tables of contents are left out. A
    paragraph that continues on the next page gives a block for each page. A block without a
    position belongs to the page of the previous block.
    """
    page = 1
    for block in _below(document.body, document):
        page = block.page or page
        yield replace(block, page=page)


def _below(node: Any, document: Any) -> Iterator[_Block]:
    for ref in node.children:
        item = ref.resolve(document)
        if item.content_layer != "body" or item.label == "document_index":
            continue
        if item.label == "table":
            yield from _table(item, document)
        elif item.label in ("picture", "chart"):
            yield from list(_below(item, document)) or (_Block(own.page_no) for own in item.prov)
        else:
            if hasattr(item, "text"):
                yield from _text(item, document)
            yield from _below(item, document)


def _text(item: Any, document: Any) -> Iterator[_Block]:
    text = whole(item.text or item.orig)  # a formula not converted to TeX has only `orig`
    level = {"title": 1, "section_header": getattr(item, "level", 0) + 1}.get(item.label, 0)
    listed = item.label == "list_item"
    mark = f"{item.marker or '-'} " if listed else ""
    places = [(own.page_no, own.bbox) for own in item.prov] or [(0, None)]
    begins = [0, *(_word_start(text, own.charspan[0]) for own in item.prov[1:])]
    found: dict[int, list[_Line]] = {}
    for (page, box), begin, end in zip(places, begins, [*begins[1:], len(text)], strict=True):
        if said := " ".join(text[begin:end].split()):
            line = _Line(mark + said, _around([box], document, page))
            found.setdefault(page, []).append(line)
            mark = ""
    for page, lines in found.items():
        yield _Block(page, tuple(lines), min(level, 6), listed)


def _word_start(text: str, place: int) -> int:
    """Return the offset at which the word at `place` begins.

    Docling counts the hyphen of a word that is split across columns, and then removes it.
    """
    place = min(place, len(text))
    while place and not text[place - 1].isspace():
        place -= 1
    return place


def _table(table: Any, document: Any) -> Iterator[_Block]:
    """Yield the captions of a table, its rows, and its footnotes."""
    texts = [one for ref in table.children if hasattr(one := ref.resolve(document), "text")]
    for caption in (one for one in texts if one.label == "caption"):
        yield from _text(caption, document)
    yield from _rows(table, document)
    for note in (one for one in texts if one.label != "caption"):
        yield from _text(note, document)


def _rows(table: Any, document: Any) -> Iterator[_Block]:
    grid = table.data.grid
    known = {id(one): cell_of(whole(one.text)) for row in grid for one in row}
    cells = [[known[id(one)] for one in row] for row in grid]  # merged cells repeated
    head = len(list(takewhile(_names, grid)))
    header = cells[:head] if 0 < head < len(grid) else find_header(cells)
    head = len(header)
    for own in table.prov[:1]:
        lines: list[_Line] = []
        for row, said in zip(grid[head:], cells[head:], strict=True):
            area = _around((one.bbox for one in row), document, own.page_no)
            area = area or _area(own.bbox, document, own.page_no)
            lines += [_Line(line, area) for line in row_lines([said], header)]
        yield _Block(own.page_no, tuple(lines), rows=True)


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


def _noted_blocks(document: PdfDocument) -> Iterator[_Block]:
    """Yield a block for each filled field and each note. The caller holds PDFium's lock."""
    from pypdfium2 import PdfiumError

    for number in range(len(document)):
        # Docling itself reports a page that cannot be read.
        with suppress(PdfiumError), closing(document[number]) as page:
            for note in read_notes(page, Displayed(page)):
                yield _Block(number + 1, (_Line(note.text, note.area),))


def _insert(blocks: list[_Block], note: _Block) -> None:
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


def read_with_docling(data: bytes, path: Path, models: Path | None = None) -> Document:
    """Read a PDF with docling: parts between the headings that it finds, each on one page.

    A sentence has the rectangle of its paragraph, a table row that of its cells. Without a folder
    of `models`, they come from the Hugging Face Hub.

    Raises:
        DocumentError: The file is broken, encrypted, or holds no text.
        MissingExtraError: The extra `docling` is not installed.
        ModelError: The models cannot be loaded.
    """
    with open_pdf(path, data) as own, LOCK:  # tells broken files from encrypted ones
        named = usable_title(whole(own.get_metadata_value("Title")).strip())
        pages, notes = len(own), list(_noted_blocks(own))
    result = _convert(data, path, models)
    blocks = sorted(_read_blocks(result.document), key=lambda block: block.page)
    for note in notes:
        _insert(blocks, note)
    blocks.sort(key=lambda block: block.page)  # a note may be the only text on its page
    problems = tuple(_problems(result, blocks, pages))
    spoken = [block for block in blocks if block.lines]
    if not spoken:
        why = "; ".join(["docling finds no text in it", *problems[:3]])
        raise unusable(path, why, 'Try `documents.pdf = "pdfium"`.')
    title = named or next((block.text for block in spoken if block.level == 1), path.stem)
    return Document(str(path), title, tuple(_parts(spoken, title)), problems)


def _convert(data: bytes, path: Path, models: Path | None) -> Any:
    with MissingExtraError.unless_installed(
        "docling", "PDF cannot be read with docling", 'set documents.pdf to "pdfium"'
    ):
        from docling.datamodel.base_models import DocumentStream
    result = _converter(models).convert(
        DocumentStream(name=f"{path.stem}.pdf", stream=io.BytesIO(data)), raises_on_error=False
    )
    if result.status not in ("success", "partial_success"):
        told = "; ".join(_errors(result)) or str(result.status.value)
        raise unusable(path, f"docling gave up ({told})", 'Try `documents.pdf = "pdfium"`.')
    return result


@lru_cache(maxsize=1)
def _converter(models: Path | None) -> Any:
    """Return a converter with its models loaded."""
    from docling.datamodel.base_models import InputFormat
    from docling.datamodel.pipeline_options import PdfPipelineOptions
    from docling.document_converter import DocumentConverter, PdfFormatOption

    how = PdfFormatOption(pipeline_options=PdfPipelineOptions(artifacts_path=models))
    converter = DocumentConverter([InputFormat.PDF], {InputFormat.PDF: how})
    try:
        converter.initialize_pipeline(InputFormat.PDF)
    except Exception as error:  # from the hub, torch and several model libraries
        raise ModelError(
            "The models of docling cannot be loaded",
            why=" ".join(str(error).split())[:300],
            fix="Fetch them with: docling-tools models download -o FOLDER; and set "
            "documents.docling_models to FOLDER.",
        ) from error
    return converter


def _parts(blocks: Sequence[_Block], title: str) -> Iterator[Part]:
    pieces, boxes, pages = Pieces(), list[Box](), dict[int, int]()
    for block, following in zip_longest(blocks, blocks[1:]):
        gap = "\n" if block.listed else "\n\n"
        pieces.end_line(gap)
        start = place = pieces.place
        pages.setdefault(block.page, start)
        if block.rows:
            pieces.rows(line for line, _ in block.lines)
        else:
            pieces.add(block.text)
        if _heads(block, following):
            pieces.heading(start, block.level)
        pieces.end_line(gap)
        for line, area in block.lines:
            boxes += place_box(place, place + len(line), area) if area else []
            place += len(line) + 1
    text, headings, kept = pieces.result()
    bounds = sorted([*headings, *((place, place, 0, "") for place in pages.values())])
    numbers, starts = list(pages), list(pages.values())
    for part in sections(text, bounds, title, kept=kept):
        page = numbers[bisect_right(starts, part.start) - 1]
        own = tuple(box for box in boxes if part.start <= box.start < part.end)
        yield replace(part, page=page, boxes=own)


def _heads(block: _Block, following: _Block | None) -> bool:
    """Return whether a block is a heading with text below it; without any, it is plain text."""
    return (
        block.level > 0
        and following is not None
        and (not following.level or following.level > block.level)
    )


def _problems(result: Any, blocks: Sequence[_Block], pages: int) -> Iterator[str]:
    """Yield messages about parts that are missing or may be wrong."""
    errors = list(_errors(result))
    yield from errors
    if result.status == "partial_success" and not errors:
        yield "docling did not read all of it"
    said = {block.page for block in blocks if block.lines}
    empty = [number for number in range(1, pages + 1) if number not in said]
    guessed = [
        number
        for number, scores in sorted(result.confidence.pages.items())
        if number in said and not math.isnan(scores.ocr_score)
    ]
    pictured = sorted({block.page for block in blocks if not block.lines})
    yield from name_places(
        {
            "no text on page {}: blank, or a scan in which none was recognised": empty,
            "text of page {} was recognised in a picture, and may have errors": guessed,
            "a picture or table on page {}: what it shows was not read": pictured,
        }
    )


def _errors(result: Any) -> Iterator[str]:
    for error in result.errors:
        where = f"page {error.page_no}: " if error.page_no else ""
        yield where + " ".join(error.error_message.split())[:200]
