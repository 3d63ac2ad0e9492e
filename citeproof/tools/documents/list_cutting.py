"""Keeps lists whole when a document is cut, and names the part of a longer list in a passage."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from citeproof.tools.sentences import LIST_ITEM, Span, words

_PART = re.compile(r"\bitems? (\d+)(?:-(\d+))? of (\d+)")
_NO_ITEM = "|>#"
"""Characters that begin a row, a quotation or a heading, which are joined like items."""


class LongList(NamedTuple):
    """A list that is cut."""

    items: tuple[int, ...]
    """Offsets of its items, without those that are nested in others."""
    end: int


def join_lists(
    text: str, spans: Sequence[Span], most: int
) -> tuple[list[Span], tuple[LongList, ...]]:
    """Join the items of a list with each other and with the line before them that ends in a colon.

    Half a list looks like the whole, and says nothing without its introduction. A list that is much
    longer than a passage of `most` words is cut between its items, and its first item stays with
    the introduction.

    Returns:
        The joined spans, and the lists that are too long.
    """
    joined: list[Span] = []
    long: list[LongList] = []
    place = 0
    while place < len(spans):
        start = spans[place].start
        first = place + text.endswith(":", start, spans[place].end)
        items = list(_items(text, spans, first))
        end = max(items[-1][0] + 1 if items else first, place + 1)
        stop = spans[end - 1].end
        cuts = [place, end]
        if is_long(text, start, stop, most):
            begins = [number for number, is_item in items if is_item]
            cuts = [place, *begins[1:], end]
            if begins and text[spans[first].start] not in _NO_ITEM:
                long.append(LongList(tuple(spans[number].start for number in begins), stop))
        for left, right in pairwise(cuts):
            kept = right
            if len(cuts) > 2 and is_long(text, spans[left].start, spans[right - 1].end, most):
                kept = (first if left == place else left) + 1  # of a long item, its first sentence
            joined += [Span(spans[left].start, spans[kept - 1].end), *spans[kept:right]]
        place = end
    return joined, tuple(long)


def is_long(text: str, start: int, end: int, most: int) -> bool:
    """Return whether a stretch of text is much longer than a passage of `most` words."""
    return len(words(text[start:end])) > 1.5 * most


def _items(text: str, spans: Sequence[Span], first: int) -> Iterator[tuple[int, bool]]:
    """Yield the spans of the list that begins with span `first`, and whether each begins an item.

    Sentences on the line of an item, and lines that are indented more than the first one, belong to
    the list.
    """
    indent = 0
    for number in range(first, len(spans)):
        above = text[spans[number - 1].end if number else 0 : spans[number].start]
        own = len(above) - above.rfind("\n") - 1
        begins = not number or "\n" in above
        if begins and LIST_ITEM.match(text, spans[number].start):
            indent = indent if number > first else own
            yield number, own <= indent
        elif number == first or (begins and own <= indent):
            return
        else:
            yield number, False


def name_parts(lists: Sequence[LongList], start: int, end: int) -> str:
    """Name the parts of long lists in a passage, as in `items 4-6 of 9`; empty if it has none.

    >>> name_parts([LongList((5, 20, 30), 40)], 0, 29)
    'items 1-2 of 3'
    """
    named = []
    for items, stop in lists:
        if start < stop and end > items[0] and not (start <= items[0] and stop <= end):
            first, last = max(1, bisect_right(items, start)), bisect_left(items, end)
            which = f"item {first}" if first == last else f"items {first}-{last}"
            named.append(f"{which} of {len(items)}")
    return ", ".join(named)


def read_parts(location: str) -> list[tuple[int, int, int]]:
    """Read what `name_parts` wrote: the first item of each part, the last one, and the count.

    >>> read_parts("slide 4, item 1 of 3, items 4-6 of 9")
    [(1, 1, 3), (4, 6, 9)]
    """
    found = _PART.findall(location)
    return [(int(first), int(last or first), int(count)) for first, last, count in found]
