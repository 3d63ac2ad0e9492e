"""Reads PDF (extra `pdf`): text in reading order, with the position of each line on its page."""

from __future__ import annotations

import re
import shutil
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from citeproof.errors import DocumentError
from citeproof.pdfium import LOCK, Area, Displayed, open_pdf
from citeproof.text import whole
from citeproof.tools.documents.base import (
    Document,
    Heading,
    Part,
    name_places,
    sections,
    unusable,
    usable_title,
)
from citeproof.tools.documents.ocr import recognize
from citeproof.tools.documents.pdf_flow import Flow, count_spellings, flow
from citeproof.tools.documents.pdf_furniture import with_footnotes_last, without_furniture
from citeproof.tools.documents.pdf_headings import (
    PageHeading,
    find_headings,
    find_title,
    measure_body,
    read_bookmarks,
)
from citeproof.tools.documents.pdf_lines import Line, read_lines
from citeproof.tools.documents.pdf_notes import insert, read_notes
from citeproof.tools.documents.pdf_tables import with_column_names

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_LARGE = 0.1
"""An image without text is reported if it covers at least this share of its page."""
_SENTENCE_END = re.compile(r"[.!?][\"'”’»)\]]*(?=\s)")
_LONGEST_REST = 500
"""Maximum length of the part of a sentence that stands on the next page, in characters."""
_SCALE = 300 / 72
"""Pixels per point for text recognition."""


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
            title = usable_title(whole(document.get_metadata_value("Title")))
            bookmarks = read_bookmarks(document)
        tesseract = shutil.which("tesseract")
        for number, page in enumerate(pages):
            if tesseract and page.drawn and not (page.lines or page.error):
                _recognize(tesseract, document, number, page)
    texts = without_furniture([page.lines for page in pages])
    body = measure_body(texts)
    columns = None
    for number, lines in enumerate(texts):
        ordered = with_footnotes_last(lines, body.size)
        texts[number], columns = with_column_names(ordered, columns)
    title = title or find_title(next(iter(texts), ()), body) or path.stem
    parts = tuple(_parts(texts, title, find_headings(texts, bookmarks, body)))
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
    with (
        LOCK,
        closing(document[number]) as own,
        closing(own.render(scale=_SCALE, grayscale=True)) as bitmap,
    ):
        picture = bitmap.to_pil().copy()
    try:
        page.lines, page.recognized = recognize(tesseract, picture), True
    except DocumentError as error:
        page.error = f"page {number + 1} could not be recognised: {error.why}"


def _parts(
    pages: Sequence[list[Line]], title: str, headings: Sequence[Sequence[PageHeading]]
) -> Iterator[Part]:
    """Yield the sections of a document, each cut where its page ends.

    A sentence that runs over to the next page belongs to the page on which it begins.
    """
    spelled = count_spellings(line for lines in pages for line in lines)
    texts: list[Flow] = []
    found: list[Heading] = []
    text, begins = "", list[int]()
    for lines, own in zip(pages, headings, strict=True):
        named = {n: one.first for one in own for n in range(one.first, one.last + 1)}
        begin = len(text) + bool(texts)
        made = flow(lines, begin, spelled, named)
        over = _runs_over(texts[-1].text if texts else "", made.text)
        text += (" " if over else "\f") * bool(texts) + made.text
        texts.append(made)
        begins.append(begin + over)
        starts = [*made.starts, len(text)]
        for one in own:
            start, body = starts[one.first], starts[one.last + 1]
            found.append((start, start if one.stays else body, one.level, one.name))
    rows = [row for made in texts for row in made.rows]
    for part in sections(text, found, title, kept=rows):
        for page in range(bisect_right(begins, part.start), bisect_left(begins, part.end) + 1):
            start = max(part.start, begins[page - 1])
            end = min([part.end, *begins[page : page + 1]])
            end = start + len(text[start:end].rstrip())
            body = min(max(part.body, start), end)
            if body < end:
                boxes = (
                    box for box in texts[page - 1].boxes if start < box.end and box.start < end
                )
                kept = (row for row in part.kept if start <= row[0] and row[1] <= end)
                piece = replace(part, start=start, body=body, end=end, page=page)
                yield replace(piece, boxes=tuple(boxes), kept=tuple(kept))


def _runs_over(text: str, following: str) -> int:
    """Return the length of the rest of a page's last sentence on the next page, or 0."""
    if not (text[-1:].isalpha() or text.endswith(",")) or not following[:1].islower():
        return 0
    end = _SENTENCE_END.search(following, 0, _LONGEST_REST)
    return end.end() if end else 0


def _problems(pages: Sequence[_Page]) -> Iterator[str]:
    """Yield messages about parts that are missing or may be wrong."""
    yield from (page.error for page in pages if page.error)
    numbered = list(enumerate(pages, start=1))
    silent = [n for n, page in numbered if not (page.lines or page.error or page.recognized)]
    scans = [(n, page.lines) for n, page in numbered if page.recognized]
    pictured = [n for n, page in numbered if page.pictured and page.lines and not page.recognized]
    yield from name_places(
        {
            "no text on page {}: blank, or a scan that needs text recognition": silent,
            "no text was recognised on page {}": [n for n, lines in scans if not lines],
            "the text of page {} was recognised in a scan, and may have errors": [
                n for n, lines in scans if lines
            ],
            "a large image on page {}: what it shows was not read": pictured,
        }
    )
