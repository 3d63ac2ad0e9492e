"""The text of a PDF page: its lines joined, without the headers and footers that repeat."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from citeproof.pdfium import Area
from citeproof.tools.documents.pdf_lines import HYPHEN, Line
from citeproof.types import Box

_LISTED = re.compile(r"\s*(?:[-*•‣▪]|\d{1,3}[.)])\s")
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
_EDGE = 0.12
"""Headers and footers stand within this share of the page's height, at its top and its bottom."""
_REPEATED = 3
"""So many pages have them."""
_MOST_NAMED = 8


def without_furniture(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """The lines of pages without headers, footers and page numbers.

    These are the outermost lines that stand at the same height on three pages or more, and differ
    only in their numbers. A page that would have no text left keeps its lines.
    """
    edges = [list(_edges(lines)) for lines in pages]
    seen = Counter(key for found in edges for key in {_key(line) for line in found})
    kept = []
    for lines, found in zip(pages, edges, strict=True):
        repeated = {id(line) for line in found if seen[_key(line)] >= _REPEATED}
        rest = [line for line in lines if id(line) not in repeated]
        kept.append(rest or lines)
    return kept


def flow(lines: Sequence[Line], start: int) -> tuple[str, list[Box]]:
    """The text of a page, and where its lines stand.

    Lines that the layout broke are joined, and words that it hyphenated.

    Args:
        lines: In reading order.
        start: Offset of the page in the text of the whole document.
    """
    sizes = [len(line.text) for line in lines]
    full = 0.6 * statistics.median(sizes) if sizes else 0
    text, boxes, place = "", [], start
    for line, following in zip_longest(lines, lines[1:]):
        said, then = line.text, following.text if following else ""
        hyphenated = said.endswith((HYPHEN, "-")) and said[-2:-1].isalpha()
        if hyphenated and then[:1].islower():
            said, join = said[:-1], ""
        else:
            said = said.replace(HYPHEN, "-")
            ends = len(said) < full or said.endswith((".", "!", "?", ":"))
            beside = following is not None and following.goes_on
            # The last cell of a row ends it.
            goes_on = beside or then[:1].islower() or not (ends or line.goes_on)
            if line.noted or (following and following.noted):
                goes_on = beside
            join = " " if goes_on and then and not _LISTED.match(then) else "\n"
        for piece in line.pieces:
            begin, end = place + piece.start, place + min(piece.end, len(said))
            boxes += place_box(begin, end, piece.area)
        text += said + join
        place += len(said) + len(join)
    return text.rstrip("\n "), boxes


def place_box(start: int, end: int, area: Area) -> list[Box]:
    """The box of a stretch of a text, as far as it is on the page; none if nothing of it is."""
    left, top, right, bottom = (round(min(max(side, 0.0), 1.0), 4) for side in area)
    if start >= end or left >= right or top >= bottom:
        return []
    return [Box(start=start, end=end, left=left, top=top, right=right, bottom=bottom)]


def name_pages(told: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """Problems with a place for page numbers → these; the first of them are named."""
    for words, numbers in told.items():
        if numbers:
            more = len(numbers) - _MOST_NAMED
            named = ", ".join(map(str, numbers[:_MOST_NAMED]))
            yield words.format(f"{named} and {more} more" if more > 0 else named)


def _edges(lines: Sequence[Line]) -> Iterator[Line]:
    """The lines that may be header and footer."""
    placed = [line for line in lines if line.pieces]
    yield from (line for line in placed if line.area.bottom < _EDGE)
    yield from (line for line in placed if line.area.top > 1 - _EDGE)


def _key(line: Line) -> tuple[str, int]:
    return _NUMBER.sub("#", line.text.casefold()), round(line.area.top * 100)
