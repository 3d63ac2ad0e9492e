"""Finds the headings that the bookmarks of a PDF name, on its pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from citeproof.text import plain, whole
from citeproof.tools.documents.pdf_lines import Line

if TYPE_CHECKING:
    from pypdfium2 import PdfDest, PdfDocument

MOST_LINES = 3
"""Most lines of a heading."""
ONLY_NUMBER = re.compile(r"\s*(?:\d{1,3}(?:\.\d{1,3})*|[A-Z]|[IVX]+)\.?\s*\Z")
"""Matches the number of a heading, which may stand apart from its name: `2.1   Tides`."""
_NUMBERED = re.compile(
    r"\s*(?:(?:chapter|section|appendix)\s+)?(?:[A-Z]|\d{1,3})?(?:\.?\d{1,3})*[.:]?\s+", re.I
)
_ABOVE = 0.01
"""A bookmark leads at most this share of the page's height below the top of its line."""


class PageHeading(NamedTuple):
    """A heading of a page: the lines `first` to `last`, or none if `last` is smaller."""

    first: int
    last: int
    level: int
    name: str
    stays: bool = False
    """Whether its words stay in the text, since it may be a statement."""


class Bookmark(NamedTuple):
    """An entry of the outline of a PDF."""

    page: int
    top: float
    """Where on the page it leads, as a share of the height from the top."""
    level: int
    name: str


def read_bookmarks(document: PdfDocument) -> list[Bookmark]:
    """Return the bookmarks of a PDF, in order. The caller holds PDFium's lock."""
    found = []
    for bookmark in document.get_toc():
        target, name = bookmark.get_dest(), plain(whole(bookmark.get_title()))
        page = target.get_index() if target is not None else None
        if target is not None and page is not None and name:
            height = document.get_page_size(page)[1]
            found.append(Bookmark(page, _top(target, height), bookmark.level + 1, name))
    return found


def _top(target: PdfDest, height: float) -> float:
    from pypdfium2 import raw

    kind, place = target.get_view()
    if kind == raw.PDFDEST_VIEW_XYZ and len(place) > 1:
        top = place[1]
    elif kind in (raw.PDFDEST_VIEW_FITH, raw.PDFDEST_VIEW_FITBH) and place:
        top = place[0]
    else:
        return 0.0
    return 1 - float(top) / height if height else 0.0


def find_bookmarked(lines: Sequence[Line], bookmarks: Sequence[Bookmark]) -> list[PageHeading]:
    """Return the headings of a page that its bookmarks name, each where a line has its words.

    A heading without such a line stands at the place to which its bookmark leads.
    """
    found: list[PageHeading] = []
    begin = 0
    for mark in bookmarks:
        span = _named_lines(lines, begin, mark.name)
        if span is None:
            below = (n for n, line in enumerate(lines) if line.area.top >= mark.top - _ABOVE)
            first = max(begin, next(below, len(lines)))
            span = (first, first - 1)
        found.append(PageHeading(*span, mark.level, mark.name))
        begin = span[1] + 1
    return found


def _named_lines(lines: Sequence[Line], begin: int, name: str) -> tuple[int, int] | None:
    """Return the first and last of the lines that a name consists of, apart from its number."""
    wanted = _bare(name)
    for first in range(begin, len(lines)):
        said = _bare(lines[first].text)
        last = first
        while said and said != wanted and wanted.startswith(said):
            last += 1
            if last in (len(lines), first + MOST_LINES):
                break
            said += _letters(lines[last].text)
        if said and said == wanted:
            if first > begin and lines[first].goes_on and ONLY_NUMBER.match(lines[first - 1].text):
                return first - 1, last
            return first, last
    return None


def _bare(text: str) -> str:
    return _letters(_NUMBERED.sub("", f"{text} ", count=1)) or _letters(text)


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
