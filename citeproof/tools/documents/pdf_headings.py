"""Finds the headings of a PDF: by its bookmarks, or else by large and bold type."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from citeproof.text import plain, whole
from citeproof.tools.documents.base import begins_section, usable_title
from citeproof.tools.documents.pdf_flow import usual_gap
from citeproof.tools.documents.pdf_lines import HYPHEN, Line, gap

if TYPE_CHECKING:
    from pypdfium2 import PdfDest, PdfDocument

_LARGER = 1.12
"""The type of a heading is this many times as large as the text's."""
_SMALLER = 0.85
"""The type of a bold heading may be this many times as large as the text's."""
_TITLE = 1.3
"""The type of a title is this many times as large as the text's."""
_FAR = 1.6
"""The lines of a title stand at most this many times their height apart."""
_MOST_WORDS = 16
_FEWEST_LETTERS = 3
_MOST_BOLD = 0.3
"""A document with a larger share of bold type uses it for other things than headings."""
_FEW_PAGES = 5
"""In a longer document, no heading is the only one of its kind."""
_MOST_SHARE = 0.4
"""If more of a page's lines seem to be headings, none is: it is a form, a table or a card."""
_NUMBERED = re.compile(r"\s*(?:\d+|[A-Z])((?:\.\d+)*)\.?\s")
_NO_HEADING = re.compile(rf"[.;,:…{HYPHEN}-]\s*$|^[(\[]")
_NO_TITLE = re.compile(
    r"\s*\d+(?:\.\d+)*\.?\s|(?:version|release|draft|edition)\b|(?:\S ){4}", re.IGNORECASE
)
"""Matches the first heading, a version, and letters that are set apart."""
_LETTER = re.compile(r"[^\W\d_]")
_MOST_LINES = 3
"""Most lines of a heading."""
_ONLY_NUMBER = re.compile(r"\s*(?:\d{1,3}(?:\.\d{1,3})*|[A-Z]|[IVX]+)\.?\s*\Z")
"""Matches the number of a heading, which may stand apart from its name: `2.1   Tides`."""
_PREFIX = re.compile(
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


class _Span(NamedTuple):
    """Lines that are set like a heading."""

    first: int
    last: int
    name: str
    style: tuple[int, bool, int]
    """What ranks it, highest first: size, weight, and depth of its number."""


class Body(NamedTuple):
    """The type of most of a document's text."""

    size: float
    """In points; 0 if it is unknown."""
    sets_bold: bool
    """Whether bold type is rare enough to be that of headings."""

    def is_large(self, line: Line) -> bool:
        """Return whether a line is set larger than the text."""
        return line.font.size >= self.size * _LARGER


def measure_body(pages: Iterable[Iterable[Line]]) -> Body:
    """Return the type of most letters of a document."""
    sizes, weights = Counter[float](), Counter[bool]()
    for line in chain.from_iterable(pages):
        sizes[line.font.size] += len(line.text)
        weights[line.font.bold] += len(line.text)
    size = max(sizes, key=lambda size: sizes[size], default=0.0)
    return Body(size, weights[True] <= _MOST_BOLD * weights.total())


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


def find_headings(
    pages: Sequence[Sequence[Line]], bookmarks: Sequence[Bookmark], body: Body
) -> list[list[PageHeading]]:
    """Return the headings of each page, in order.

    They are the bookmarks, if every second page has one, or else what the type shows, if that is
    more: programs also set other things in large type.
    """
    by_page: dict[int, list[Bookmark]] = {}
    for mark in bookmarks:
        by_page.setdefault(mark.page, []).append(mark)
    marked = [_find_bookmarked(lines, by_page.get(place, ())) for place, lines in enumerate(pages)]
    if 2 * len(bookmarks) >= len(pages):
        return marked
    return max(marked, _find_by_type(pages, body), key=lambda found: sum(map(len, found)))


def find_title(page: Sequence[Line], body: Body) -> str:
    """Return the title on a page: its largest line, if it is much larger than the text."""
    large = [
        (page[span.first].font.size, -span.first, span.name)
        for span in _set_apart(page, body)
        if not _NO_TITLE.match(span.name)
    ]
    size, _, name = max(large, default=(0.0, 0, ""))
    return usable_title(name) if size >= _TITLE * body.size else ""


def _find_by_type(pages: Sequence[Sequence[Line]], body: Body) -> list[list[PageHeading]]:
    """Return the headings that are set in larger or bold type, and stand apart."""
    found = [_unless_many(list(_set_apart(lines, body)), len(lines)) for lines in pages]
    count = Counter(span.style for spans in found for span in spans)
    fewest = 1 if len(pages) <= _FEW_PAGES else 2
    used = sorted(style for style in count if count[style] >= fewest)
    levels = {style: level for level, style in enumerate(used, start=1)}
    return [
        [
            PageHeading(
                span.first,
                span.last,
                levels[span.style],
                span.name,
                not body.is_large(lines[span.first]),
            )
            for span in spans
            if span.style in levels
        ]
        for lines, spans in zip(pages, found, strict=True)
    ]


def _unless_many(spans: list[_Span], lines: int) -> list[_Span]:
    count = sum(span.last - span.first + 1 for span in spans)
    return spans if count <= max(2, _MOST_SHARE * lines) else []


def _set_apart(lines: Sequence[Line], body: Body) -> Iterator[_Span]:
    """Yield the headings of a page."""
    usual, first = usual_gap(lines) or 0.0, 0
    while body.size and first < len(lines):
        last = first
        while last - first + 1 < _MOST_LINES and _is_wrapped(lines, first, last, body):
            last += 1
        said = " ".join(line.text.strip() for line in lines[first : last + 1])
        name = said.replace(f"{HYPHEN} ", "")
        if _is_heading(lines, first, last, name, body, usual):
            font, numbered = lines[first].font, _NUMBERED.match(name)
            depth = numbered[1].count(".") if numbered else 0
            yield _Span(first, last, name, (-round(font.size), not font.bold, depth))
        first = last + 1


def _is_wrapped(lines: Sequence[Line], first: int, last: int, body: Body) -> bool:
    """Whether the line after the last one belongs to the same heading."""
    font, following = lines[first].font, lines[last + 1 : last + 2]
    if not following or following[0].font != font:
        return False
    if following[0].goes_on:
        return last == first and _ONLY_NUMBER.match(lines[first].text) is not None
    if not (font.bold or body.is_large(lines[first])):
        return False
    most = lines[last].area.height * (_FAR if font.size >= body.size * _TITLE else 1.0)
    return 0 <= gap(lines[last], following[0]) < most


def _is_heading(
    lines: Sequence[Line], first: int, last: int, name: str, body: Body, usual: float
) -> bool:
    line = lines[first]
    in_row = line.is_row or line.goes_on or any(one.goes_on for one in lines[last + 1 : last + 2])
    if in_row or line.noted or line.font.fixed:
        return False
    if _NO_HEADING.search(name) or len(name.split()) > _MOST_WORDS or not begins_section(name):
        return False
    if len(_LETTER.findall(name)) < _FEWEST_LETTERS:
        return False
    if body.is_large(line):
        return True
    near = first > 0 and 0 <= gap(lines[first - 1], line) <= 1.2 * usual
    is_bold = body.sets_bold and line.font.bold and line.font.size >= _SMALLER * body.size
    return is_bold and not near and not name[:1].islower()


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


def _find_bookmarked(lines: Sequence[Line], bookmarks: Sequence[Bookmark]) -> list[PageHeading]:
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
            if last in (len(lines), first + _MOST_LINES):
                break
            said += _letters(lines[last].text)
        if said and said == wanted:
            if first > begin and lines[first].goes_on and _ONLY_NUMBER.match(lines[first - 1].text):
                return first - 1, last
            return first, last
    return None


def _bare(text: str) -> str:
    return _letters(_PREFIX.sub("", f"{text} ", count=1)) or _letters(text)


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
