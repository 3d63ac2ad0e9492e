"""Leaves out what a PDF page repeats, and tables of contents; moves footnotes out of the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from citeproof.tools.documents.pdf_lines import Line, by_row

_Key: TypeAlias = tuple[str, int, int, int]
"""A line's text, its height, and the place and value of a number, counted from its page's."""
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
_DIGITS = re.compile(r"\d{1,9}")
_PAGE_NUMBER = re.compile(r"\W*(?:\d{1,4}|[ivxlc]+)\W*", re.IGNORECASE)
_ENTRY = re.compile(r"(?:\.\s?){4,}\s*(?:(\d{1,4})|[ivxlc]+)\s*\Z")
"""Matches the end of an entry in a table of contents."""
_CONTENTS = re.compile(r"\W*(?:table of contents|contents)\W*", re.IGNORECASE)
_FEWEST_ENTRIES = 4
"""Least number of entries of a table of contents on a page."""
_EDGE = 0.12
"""Headers and footers stand within this share of the page's height from its top or bottom."""
_LAST = 0.2
"""A page number that is the page's last line stands within this share from its bottom."""
_SMALL = 0.93
"""The type of a footnote is at most this many times as large as the text's."""
_REPEATED = 3
"""Least number of pages on which headers and footers repeat."""
_DATE = 3
"""Least number of numbers in a date; fewer may be the cell of a table, such as 0.00."""


def without_furniture(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """Remove headers, footers, page numbers and tables of contents from the lines of pages.

    Headers and footers are lines at the top and bottom that stand at the same height on three or
    more pages and differ only in their numbers. Numbers alone must rise with the pages, or be the
    same date. A page that would have no text left keeps its lines, unless these are a table of
    contents.
    """
    edges = [
        [(id(line), set(_keys(line, page))) for line in _edges(lines)]
        for page, lines in enumerate(pages)
    ]
    seen = Counter(key for found in edges for key in set[_Key]().union(*(own for _, own in found)))
    kept = []
    for lines, found in zip(pages, edges, strict=True):
        repeated = {line for line, own in found if any(seen[key] >= _REPEATED for key in own)}
        rest = [line for line in lines if id(line) not in repeated]
        kept.append(_without_contents(rest or lines))
    return kept


def _edges(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines that may be headers, footers or page numbers."""
    placed = [line for line in lines if line.pieces]
    yield from (line for line in placed if line.area.bottom < _EDGE)
    yield from (line for line in placed if line.area.top > 1 - _EDGE)
    if placed:
        last = max(placed, key=lambda line: line.area.bottom)
        if 1 - _LAST < last.area.top <= 1 - _EDGE and _PAGE_NUMBER.fullmatch(last.text):
            yield last


def _keys(line: Line, page: int) -> Iterator[_Key]:
    """Yield what a line has in common with the headers or footers of other pages like it."""
    text, height = line.text.casefold(), round(line.area.top * 100)
    form = _NUMBER.sub("#", text)
    numbers = _DIGITS.findall(text)
    if not numbers or any(map(str.isalpha, text)):
        yield form, height, 0, 0
        return
    for place, number in enumerate(numbers):
        yield form, height, place, int(number) - page
    if len(numbers) >= _DATE:
        yield text, height, 0, 0


def _without_contents(lines: list[Line]) -> list[Line]:
    """Remove a table of contents: rows that end with dots and page numbers that never fall.

    The rows between them go as well, such as chapters without dots, and the heading above.
    """
    rows = by_row(lines)
    entries = [(_ENTRY.search(" ".join(line.text for line in row))) for row in rows]
    places = [place for place, entry in enumerate(entries) if entry]
    numbers = [int(entry[1]) for entry in entries if entry and entry[1]]
    rises = all(one <= other for one, other in pairwise(numbers))
    if len(places) < _FEWEST_ENTRIES or not rises:
        return lines
    first, last = places[0], places[-1]
    named = (place for place in range(first) if _CONTENTS.fullmatch(rows[place][0].text))
    first = next(named, first)
    return [line for row in (*rows[:first], *rows[last + 1 :]) for line in row]


def with_footnotes_last(lines: list[Line], usual: float) -> list[Line]:
    """Move the footnotes of a column to the end of the page, since its text goes on in the next.

    Footnotes are lines in small type before a line that stands higher on the page.

    Args:
        lines: The lines of a page, column by column.
        usual: The size of most of the document's letters.
    """
    text: list[Line] = []
    notes: list[Line] = []
    small: list[Line] = []
    for line in lines:
        if 0 < line.font.size <= _SMALL * usual:
            small.append(line)
            continue
        is_foot = bool(small and text) and line.area.bottom < small[0].area.top
        (notes if is_foot else text).extend(small)
        small = []
        text.append(line)
    return [*text, *small, *notes]
