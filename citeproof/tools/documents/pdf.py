"""Reads PDF (extra `pdf`): text in reading order, with the position of each line on its page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from citeproof.errors import DocumentError
from citeproof.pdfium import LOCK, Area, Displayed, open_pdf
from citeproof.text import plain
from citeproof.tools.documents.base import Document, Part, unusable, usable_title, whole
from citeproof.tools.documents.ocr import recognize
from citeproof.tools.documents.pdf_lines import (
    Line,
    flow,
    name_pages,
    read_lines,
    without_furniture,
)
from citeproof.tools.documents.pdf_notes import insert, read_notes

if TYPE_CHECKING:
    from pypdfium2 import PdfDest, PdfDocument, PdfPage

_LARGE = 0.1
"""An image without text is reported if it covers at least this share of its page."""
_SCALE = 300 / 72
"""Pixels per point for text recognition."""
_TOP = 0.85
"""A bookmark to a place above this share of the page's height points to the page's top."""


@dataclass
class _Page:
    lines: list[Line] = field(default_factory=list)
    drawn: bool = False
    """Whether anything is drawn on it."""
    pictured: bool = False
    """Whether it has a large image without text."""
    recognized: bool = False
    error: str = ""


def read_pdf(data: bytes, path: Path) -> Document:
    """Read a PDF: one part per page, without repeated headers, footers and page numbers.

    Form values and notes are read where they stand on the page. Pages without text go through text
    recognition if `tesseract` is installed. `problems` lists what could not be read.
    """
    with open_pdf(path, data) as document:
        with LOCK:
            pages = [_read(document, number) for number in range(len(document))]
            title = whole(document.get_metadata_value("Title")).strip()
            headings = _read_headings(document)
        tesseract = shutil.which("tesseract")
        for number, page in enumerate(pages):
            if tesseract and page.drawn and not (page.lines or page.error):
                _recognize(tesseract, document, number, page)
    title = usable_title(title) or path.stem
    texts = without_furniture([page.lines for page in pages])
    parts = tuple(_parts(texts, title, headings))
    problems = tuple(_problems(pages))
    if not parts:
        why = "; ".join(["no page holds any text", *(page.error for page in pages if page.error)])
        fix = "If it is a scan, install tesseract, or put it through ocrmypdf."
        raise unusable(path, why, fix)
    return Document(str(path), title, parts, problems)


def _read(document: PdfDocument, number: int) -> _Page:
    """Read a page. The caller holds PDFium's lock."""
    from pypdfium2 import PdfiumError, raw

    try:
        with closing(document[number]) as page:
            shown, text = Displayed(page), page.get_textpage()
            lines = read_lines(text, shown)
            if not any(letter.isalnum() for line in lines for letter in line.text):
                lines = []  # the font does not map its glyphs to characters
            areas = [line.area for line in lines]
            pictured = any(not any(map(image.holds, areas)) for image in _images(page, shown))
            for note in read_notes(page, shown):
                insert(lines, note)
            return _Page(lines, raw.FPDFPage_CountObjects(page) > 0, pictured)
    except PdfiumError as error:
        return _Page(error=f"page {number + 1} cannot be read and was left out: {error}")


def _images(page: PdfPage, shown: Displayed) -> Iterator[Area]:
    """Yield the areas of the page's large images."""
    from pypdfium2 import raw

    for image in page.get_objects([raw.FPDF_PAGEOBJ_IMAGE], max_depth=1):
        area = shown.area(*image.get_bounds())
        if area.width * area.height >= _LARGE:
            yield area


def _recognize(tesseract: str, document: PdfDocument, number: int, page: _Page) -> None:
    with LOCK:
        own = document[number]
        bitmap = own.render(scale=_SCALE, grayscale=True)
        picture = bitmap.to_pil().copy()
        bitmap.close()
        own.close()
    try:
        page.lines, page.recognized = recognize(tesseract, picture), True
    except DocumentError as error:
        page.error = f"page {number + 1} could not be recognised: {error.why}"


def _parts(
    pages: Sequence[list[Line]], title: str, headings: Sequence[tuple[str, ...]]
) -> Iterator[Part]:
    start, flowing = 0, []
    for lines in pages:
        said, boxes = flow(lines, start)
        flowing.append((start, said, boxes))
        start += len(said) + 1
    text = "\f".join(said for _, said, _ in flowing)
    for page, ((start, said, boxes), above) in enumerate(zip(flowing, headings, strict=True), 1):
        if said.strip():
            names = above[1:] if above[:1] == (title,) else above
            yield Part(text, start, start, start + len(said), title, names, page, boxes=(*boxes,))


def _problems(pages: Sequence[_Page]) -> Iterator[str]:
    """Yield messages about parts that are missing or may be wrong."""
    yield from (page.error for page in pages if page.error)
    numbered = list(enumerate(pages, start=1))
    silent = [n for n, page in numbered if not (page.lines or page.error or page.recognized)]
    scans = [(n, page.lines) for n, page in numbered if page.recognized]
    pictured = [n for n, page in numbered if page.pictured and page.lines and not page.recognized]
    yield from name_pages(
        {
            "no text on page {}: blank, or a scan that needs text recognition": silent,
            "no text was recognised on page {}": [n for n, lines in scans if not lines],
            "the text of page {} was recognised in a scan, and may have errors": [
                n for n, lines in scans if lines
            ],
            "a large image on page {}: what it shows was not read": pictured,
        }
    )


def _read_headings(document: PdfDocument) -> list[tuple[str, ...]]:
    """Return the headings that apply to the whole of each page, outermost first.

    A page on which one section ends and another begins gets the headings that both share. The
    caller holds PDFium's lock.
    """
    begun: dict[int, list[tuple[bool, list[str]]]] = {}
    path: list[str] = []
    for bookmark in document.get_toc():
        target = bookmark.get_dest()
        path = [*path[: bookmark.level], plain(whole(bookmark.get_title()))]
        if target is not None and (page := target.get_index()) is not None:
            begun.setdefault(page, []).append((_leads_to_top(document, page, target), path))
    found: list[tuple[str, ...]] = []
    above: list[str] = []
    for number in range(len(document)):
        here = begun.get(number, [])
        there = [names for _, names in here]
        if not (here and here[0][0]):
            there.insert(0, above)
        levels = takewhile(lambda level: len(set(level)) == 1, zip(*there, strict=False))
        found.append(tuple(level[0] for level in levels if level[0]))
        above = here[-1][1] if here else above
    return found


def _leads_to_top(document: PdfDocument, page: int, target: PdfDest) -> bool:
    from pypdfium2 import raw

    kind, place = target.get_view()
    if kind == raw.PDFDEST_VIEW_XYZ and len(place) > 1:
        height = place[1]
    elif kind in (raw.PDFDEST_VIEW_FITH, raw.PDFDEST_VIEW_FITBH) and place:
        height = place[0]
    else:
        return True
    return bool(height > _TOP * document.get_page_size(page)[1])
