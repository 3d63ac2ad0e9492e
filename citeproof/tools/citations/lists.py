"""The lists of a passage, such as steps and options, each with the text that introduces it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from citeproof.tools.citations.quotes import Quote
from citeproof.tools.sentences import Span, split
from citeproof.types import Passage

__all__ = ["ItemList", "lists_in"]

_LINE = re.compile(r"[^\n]*\n?")
_ITEM = re.compile(
    r"(?P<indent>[ \t]*)(?:\d{1,3}[.)]|\([a-z\d]{1,2}\)|[a-z][.)]|[-*+•◦‣▪●–])\s+(?=\S)"
)
_HEADING = re.compile(r"\s*#")
_ENDS = re.compile(r"[.!?:;,…。：][\"'”’»)]*\Z")
_FEWEST = 2
"""Fewest items of a list."""
_LONGEST_LEAD = 300
"""Maximum length of the text that introduces a list, in characters."""


class ItemList(NamedTuple):
    """A list in a passage."""

    lead: Quote | None
    """The end of the paragraph before the list; None after a heading, and at the beginning of a
    passage."""
    items: tuple[Quote, ...]
    """The items without their numbers, each with the items nested in it."""

    @property
    def quotes(self) -> tuple[Quote, ...]:
        """The lead, if any, and the items."""
        return ((self.lead,) if self.lead else ()) + self.items

    @property
    def heading(self) -> str:
        """What names the list: the passage's own heading, and the lead."""
        own = self.items[0].passage.title.rpartition(" – ")[2]
        return f"{own} {self.lead.text if self.lead else ''}"

    @property
    def premise(self) -> str:
        """The whole list as a model reads it, after the passage's title."""
        passage, first, last = self.items[0].passage, self.quotes[0], self.items[-1]
        return passage.model_copy(update={"text": passage.text[first.start : last.end]}).premise


def lists_in(passage: Passage) -> Iterator[ItemList]:
    """Yield the lists of a passage, in order.

    Lines that are indented more than an item belong to it, as does the rest of a
    wrapped line, unless it begins with a capital.
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
        passage = items[0].passage
        yield ItemList(_lead(passage, before), tuple(items))


def _lead(passage: Passage, before: int) -> Quote | None:
    """The end of the paragraph before a list, in whole sentences; None if there is none."""
    lead: Quote | None = None
    for span in reversed(split(passage.text[:before])):
        if _is_heading(passage.text, span):
            break
        if lead and "\n\n" in passage.text[span.end : lead.start]:
            break
        if lead and lead.end - span.start > _LONGEST_LEAD:
            break
        lead = Quote(passage, span.start, lead.end if lead else span.end)
    return lead


def _is_heading(text: str, span: Span) -> bool:
    line = text.rfind("\n", 0, span.start) + 1
    return bool(_HEADING.match(text, line)) or not _ENDS.search(text[span.start : span.end])
