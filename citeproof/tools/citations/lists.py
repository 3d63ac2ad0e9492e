"""The lists of a passage, such as steps and options, each with the text that introduces it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from citeproof.text import CLOSERS, PAUSES, STOPS
from citeproof.tools.citations.quotes import Quote, is_heading
from citeproof.tools.documents.list_cutting import read_parts
from citeproof.tools.sentences import ITEM_MARK, split
from citeproof.types import Passage

_LINE = re.compile(r"[^\n]*\n?")
_ITEM = re.compile(rf"[ \t]*{ITEM_MARK}(?=\S)")
_ENDS = re.compile(rf"[{STOPS}{PAUSES}][{CLOSERS}]*\Z")
_INTRODUCES = re.compile(r"[:：]\s*\Z|\b(?:these|following|below|steps)\b", re.IGNORECASE)
_FEWEST = 2
"""Fewest items of a list."""
_GAP = 40
"""Most characters between the parts of a list: blank lines and the indent of an item."""
_LONGEST_LEAD = 300
"""Maximum length of the text that introduces a list, in characters."""


class ItemList(NamedTuple):
    """A list in a passage."""

    heading: Quote | None
    """The heading above the list, if the passage contains it."""
    lead: Quote | None
    """The end of the paragraph before the list, if it introduces the list: "Do two of these." Other
    paragraphs are about something else: a list of what readers of PDF do is no answer to which
    extra they need, though the sentence above it is."""
    items: tuple[Quote, ...]
    """The items without their numbers, each with the items nested in it."""

    @property
    def quotes(self) -> tuple[Quote, ...]:
        """The lead, if any, and the items."""
        return ((self.lead,) if self.lead else ()) + self.items

    @property
    def headed_items(self) -> tuple[Quote, ...]:
        """The items under the heading above the list, as a model reads each alone."""
        heading = self.heading.text if self.heading else ""
        return tuple(item._replace(heading=heading) for item in self.items)

    @property
    def is_numbered(self) -> bool:
        """Whether the items have numbers or letters."""
        text, start = self.passage.text, self.items[0].start
        return text[text.rfind("\n", 0, start) + 1 : start].strip(" \t(.)").isalnum()

    @property
    def passage(self) -> Passage:
        """The passage that contains the list, or its beginning."""
        return self.items[0].passage

    @property
    def name(self) -> str:
        """The heading, by default the last one of the passage's title, and the lead."""
        heading = self.heading.text if self.heading else self.passage.title.rpartition(" – ")[2]
        return f"{heading} {self.lead.text if self.lead else ''}".strip()

    @property
    def premise(self) -> str:
        """The whole list as a model reads it, after title and heading."""
        text, first = self.passage.text, self.quotes[0]
        begin = first.start if self.lead else text.rfind("\n", 0, first.start) + 1
        ends = {item.passage.id: item.passage.text[: item.end] for item in self.items}
        head, *later = ends.values()
        said = "\n".join((head[begin:], *later))
        if self.heading:
            gap = text[self.heading.end : begin]
            said = self.heading.text + ("\n" if gap.strip() else gap) + said
        return self.passage.model_copy(update={"text": said}).premise


def whole_lists(passages: Iterable[Passage]) -> Iterator[ItemList]:
    """Yield the lists of passages; one that was cut only if all its passages are there."""
    begun: ItemList | None = None
    following = ("", 0, 0)
    """Source, and number and count of the items, of the part that must follow."""
    end = 0
    for passage in sorted(passages, key=lambda one: (one.source, one.start)):
        parts = read_parts(passage.location)
        lists = list(lists_in(passage, fewest=1 if parts else _FEWEST))
        for first, last, count in parts:
            if not lists:
                break
            own = lists.pop(0 if first > 1 else -1)
            follows = following == (passage.source, first, count) and _begins(own)
            if first == 1:
                begun = own
            elif begun and follows and 0 <= passage.start - end <= _GAP:
                begun = begun._replace(items=(*begun.items, *own.items))
            else:
                begun = None
            following, end = (passage.source, last + 1, count), passage.end
            if begun and last == count:
                yield begun
                begun = None
        yield from (one for one in lists if len(one.items) >= _FEWEST)


def other_parts(chosen: Sequence[Passage], found: Iterable[Passage]) -> list[Passage]:
    """Return the found passages with the rest of lists of which a part was chosen."""
    wanted = {(one.source, count) for one in chosen for *_, count in read_parts(one.location)}
    return [
        one
        for one in found
        if one not in chosen
        and any((one.source, count) in wanted for *_, count in read_parts(one.location))
    ]


def _begins(one: ItemList) -> bool:
    """Whether a list begins its passage."""
    text = one.passage.text
    return not text[: text.rfind("\n", 0, one.items[0].start) + 1].strip()


def lists_in(passage: Passage, *, fewest: int = _FEWEST) -> Iterator[ItemList]:
    """Yield the lists of a passage that have so many items, in order.

    Lines that are indented more than an item belong to it, as does the rest of a wrapped line,
    unless it begins with a capital.
    """
    items: list[Quote] = []
    indent, before, is_cut = 0, 0, False
    for line in _LINE.finditer(passage.text):
        said, start = line[0].strip(), line.start()
        if not said:
            is_cut = False
            continue
        depth, stop = len(line[0]) - len(line[0].lstrip()), start + len(line[0].rstrip())
        item = _ITEM.match(line[0])
        if items and (depth > indent or (is_cut and not item and not said[0].isupper())):
            items[-1] = items[-1]._replace(end=stop)
        else:
            if not item or depth < indent:
                yield from _whole(items, before, fewest)
                items = []
            if item and not items:
                indent, before = depth, start
            if item:
                items.append(Quote(passage, start + item.end(), stop))
        is_cut = not _ENDS.search(said)
    yield from _whole(items, before, fewest)


def _whole(items: list[Quote], before: int, fewest: int) -> Iterator[ItemList]:
    if len(items) >= fewest:
        yield ItemList(*_above(items[0].passage, before), tuple(items))


def _above(passage: Passage, before: int) -> tuple[Quote | None, Quote | None]:
    """The heading and the lead of a list that begins at `before`."""
    lead: Quote | None = None
    for span in reversed(split(passage.text[:before])):
        if is_heading(passage.text, span):
            return Quote(passage, *span), _introduction(lead)
        if lead and "\n\n" in passage.text[span.end : lead.start]:
            break
        if lead and lead.end - span.start > _LONGEST_LEAD:
            break
        lead = Quote(passage, span.start, lead.end if lead else span.end)
    return None, _introduction(lead)


def _introduction(lead: Quote | None) -> Quote | None:
    return lead if lead and _INTRODUCES.search(lead.text) else None
