"""The lists of a passage, such as steps and options, each with the text that introduces it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from citeproof.text import CLOSERS, PAUSES, STOPS
from citeproof.tools.citations.quotes import Quote, is_heading
from citeproof.tools.sentences import split
from citeproof.types import Passage

_LINE = re.compile(r"[^\n]*\n?")
_ITEM = re.compile(r"[ \t]*(?:\d{1,3}[.)]|\([a-z\d]{1,2}\)|[a-z][.)]|[-*+•◦‣▪●–])\s+(?=\S)")
_ENDS = re.compile(rf"[{STOPS}{PAUSES}][{CLOSERS}]*\Z")
_INTRODUCES = re.compile(r"[:：]\s*\Z|\b(?:these|following|below|steps)\b", re.IGNORECASE)
_FEWEST = 2
"""Fewest items of a list."""
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
        """The passage that contains the list."""
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
        said = text[begin : self.items[-1].end]
        if self.heading:
            gap = text[self.heading.end : begin]
            said = self.heading.text + ("\n" if gap.strip() else gap) + said
        return self.passage.model_copy(update={"text": said}).premise


def lists_in(passage: Passage) -> Iterator[ItemList]:
    """Yield the lists of a passage, in order.

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
                yield from _whole(items, before)
                items = []
            if item and not items:
                indent, before = depth, start
            if item:
                items.append(Quote(passage, start + item.end(), stop))
        is_cut = not _ENDS.search(said)
    yield from _whole(items, before)


def _whole(items: list[Quote], before: int) -> Iterator[ItemList]:
    if len(items) >= _FEWEST:
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
