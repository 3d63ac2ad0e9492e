"""Reads the lines of a PDF page in reading order, with their positions and fonts."""

from __future__ import annotations

import re
import statistics
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from citeproof.pdfium import Area, Displayed, spell_out
from citeproof.text import whole
from citeproof.tools.documents.pdf_fonts import NO_FONT, Font, read_font
from citeproof.tools.documents.pdf_raised import mend_scripts

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

HYPHEN = "\u00ad"
"""Ends the text of a line whose last word continues on the next line."""
# PDFium marks a hyphen at the end of a line this way, and leaves out the line break after it.
_LINE = re.compile(r"[^\r\n\x02\ufffe]*[\x02\ufffe]|[^\r\n\x02\ufffe]+")
# The end of a sentence, or what may be one: each sentence has its own box.
_ENDS = re.compile(r"(?<=[^\s.])[.!?…][\"'”’»)\]]*\s+(?=[^\s.])|[。！？]+[”’」』）]*(?=\S)")
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\ufeff\ue000-\uf8ff]")
"""Matches what no reader sees, and icons."""
_NARROW = "\u2e7f"
"""Only texts with characters beyond this one may have some that need more than 16 bits."""
_WORD = re.compile(r"\S+")
_LETTER = re.compile(r"[^\W_]")
_FOOTNOTE = re.compile(r"^(\d{1,3})(?=[A-Z][a-z])")
_GAP = 1.1
"""A space this many times as wide as the line is high separates columns."""
_SPARSE = 0.8
"""A line wider than this many times its height per letter may have such spaces."""
_LEVEL = 0.01
"""Edges are the same within this share of the page's width."""
_ROWS = 6
"""Least number of rows whose common gap separates columns of text."""


class Piece(NamedTuple):
    """The stretch of a line that belongs to one sentence."""

    start: int
    end: int
    area: Area


@dataclass
class Line:
    """A line of a page, or the part of it in one column."""

    text: str
    pieces: tuple[Piece, ...]
    """Their offsets are into the line."""
    area: Area
    goes_on: bool = False
    """Whether it continues the row of the previous line."""
    noted: bool = False
    """Whether it comes from a form field or a note."""
    is_row: bool = False
    """Whether it is a row of a table, with the names of its columns."""
    font: Font = NO_FONT
    """The size of its first letter; bold, or fixed in width, only if its last sign is too."""


def read_lines(text: PdfTextPage, shown: Displayed) -> list[Line]:
    """Return the lines of a page, column by column. The caller holds PDFium's lock."""
    reader = _Reader(text, shown)
    rows = [list(reader.row(*match.span())) for match in _LINE.finditer(reader.text)]
    return list(_in_columns([row for row in rows if row]))


def by_row(lines: Iterable[Line]) -> list[list[Line]]:
    """Group lines by row; the cells of a row go on from its first line."""
    rows: list[list[Line]] = []
    for line in lines:
        if line.goes_on and rows:
            rows[-1].append(line)
        else:
            rows.append([line])
    return rows


def gap(line: Line, following: Line) -> float:
    """Return the space between two lines, as a share of the page's height."""
    return following.area.top - line.area.bottom


class _Reader:
    def __init__(self, text: PdfTextPage, shown: Displayed) -> None:
        from pypdfium2 import raw

        self._page, self._shown = text, shown
        self._tall = shown.height / shown.width if shown.width else 1.0
        size = text.count_chars()
        self.text = text.get_text_range() if size else ""
        # The bulk call gives 16 bits per character and may lose some; single calls are slow.
        if len(self.text) != size or (not self.text.isascii() and max(self.text) > _NARROW):
            self.text = "".join(chr(raw.FPDFText_GetUnicode(text, n)) for n in range(size))
        self.text = mend_scripts(text, self.text)

    def row(self, start: int, end: int) -> Iterator[Line]:
        """Yield a row as lines, one for each cell; wide gaps separate cells."""
        areas = self._areas(start, end)
        cuts = [start, *self._gaps(start, end, areas), end]
        goes_on = False
        for left, right in pairwise(cuts):
            if line := self._line(left, right, areas if len(cuts) == 2 else None):
                line.goes_on, goes_on = goes_on, True
                line.font = self._font(left, right)
                yield line

    def _line(self, start: int, end: int, areas: list[Area] | None) -> Line | None:
        cuts = [start, *(m.end() for m in _ENDS.finditer(self.text, start, end)), end]
        text, pieces = "", []
        for left, right in pairwise(cuts):
            piece = _clean(self.text[left:right])
            if not text:
                piece = _FOOTNOTE.sub(r"\1 ", piece.lstrip())
            if len(cuts) > 2 or areas is None:
                areas = self._areas(left, right)
            if piece.strip() and areas:
                area = reduce(or_, areas)
                pieces.append(Piece(len(text), len(text) + len(piece.rstrip()), area))
            text += piece
        text = text.rstrip(" \t")
        if not text:
            return None
        if not pieces:
            return Line(text, (), Area(0, 0, 0, 0))
        area = reduce(or_, (piece.area for piece in pieces))
        if area.width > area.height * self._tall:  # else it runs vertically
            pieces = [
                piece._replace(area=piece.area._replace(top=area.top, bottom=area.bottom))
                for piece in pieces
            ]
        return Line(text, tuple(pieces), area)

    def _font(self, start: int, end: int) -> Font:
        sign = _LETTER.search(self.text, start, end) or _WORD.search(self.text, start, end)
        if sign is None:
            return NO_FONT
        first = read_font(self._page, sign.start())
        if not (first.bold or first.fixed):
            return first
        last = read_font(self._page, start + len(self.text[start:end].rstrip()) - 1)
        return Font(first.size, first.bold and last.bold, first.fixed and last.fixed)

    def _areas(self, start: int, end: int) -> list[Area]:
        """Return the areas that a stretch of text covers, mostly one per text object."""
        count = self._page.count_rects(start, end - start)
        return [self._shown.area(*self._page.get_rect(number)) for number in range(count)]

    def _gaps(self, start: int, end: int, areas: Sequence[Area]) -> list[int]:
        """Return the offsets of the words that follow a space wide enough to separate columns."""
        if not areas:
            return []
        height = self._tall * statistics.median(area.height for area in areas)
        wide = _GAP * height
        is_gapped = any(wide < after.left - before.right for before, after in pairwise(areas))
        letters = _count(self.text[start:end].strip())
        is_sparse = len(areas) == 1 and areas[0].width > _SPARSE * height * letters
        # Calls of PDFium are slow, and code has no columns.
        if not (is_gapped or (is_sparse and not self._font(start, end).fixed)):
            return []
        found, last = [], None
        for match in _WORD.finditer(self.text, start, end):
            if not (own := self._areas(*match.span())):
                continue
            if last is not None and own[0].left - last > wide:
                found.append(match.start())
            last = own[-1].right
        return found


def _count(text: str) -> int:
    """Count letters; full-width ones count twice."""
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text)


def _clean(text: str) -> str:
    text = re.sub("[\x02\ufffe]$", HYPHEN, text)
    return _UNSEEN.sub("", spell_out(whole(text)).replace("\xa0", " "))


def _in_columns(rows: Sequence[Sequence[Line]]) -> Iterator[Line]:
    """Yield the lines row by row; of two columns of text, the left one comes first."""
    gutter = _gutter(rows)
    left: list[Line] = []
    right: list[Line] = []
    for row in rows:
        crossed = any(line.area.left < gutter < line.area.right for line in row)
        if gutter and not crossed:
            for line in row:
                line.goes_on = False
                (left if line.area.right <= gutter else right).append(line)
            continue
        yield from (*left, *right, *row)
        left, right = [], []
    yield from (*left, *right)


def _gutter(rows: Sequence[Sequence[Line]]) -> float:
    """Return the middle of the gap between two columns written row by row; 0 if there is none.

    Both columns must be prose: each takes over a quarter of the page's width, the lines of the
    right one share their left edge, and lines continue each other.
    """
    pairs = [row for row in rows if len(row) == 2 and all(line.area.width > 0.25 for line in row)]
    if len(pairs) < _ROWS:
        return 0.0
    edge = statistics.median(right.area.left for _, right in pairs)
    aligned = [row for row in pairs if abs(row[1].area.left - edge) < _LEVEL]
    if len(aligned) < max(_ROWS, 0.6 * len(pairs)):
        return 0.0
    if any(map(_are_cells, zip(*aligned, strict=True))):
        return 0.0
    end = max(left.area.right for left, _ in aligned)
    return (end + edge) / 2 if end < edge else 0.0


def _are_cells(column: Sequence[Line]) -> bool:
    """Whether all lines begin with a capital or a digit, and most end before the right edge."""
    edge = max(line.area.right for line in column)
    ragged = sum(edge - line.area.right > _LEVEL for line in column)
    first = (line.text.lstrip()[:1] for line in column)
    return 2 * ragged > len(column) and all(one.isupper() or one.isdigit() for one in first)
