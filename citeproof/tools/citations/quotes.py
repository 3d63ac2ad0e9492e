"""Quotes from passages that can be read on their own, and how they are found again."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from citeproof.text import CLOSERS, PAUSES, STOPS
from citeproof.tools.citations.marks import quotation
from citeproof.tools.sentences import (
    ITEM_MARK,
    LIST_ITEM,
    ROW,
    Span,
    count_words,
    split,
    starts,
    words,
)
from citeproof.types import Citation, Claim, Passage, Verdict

_DRAWN = re.compile(r"[-=~]{4,}|(?<![_\"'`“])_{4,}|\S(?: {3,}|\t+ *)\S")
"""Matches a table or picture drawn with characters, which a line of an answer cannot show.

A blank after a quotation mark is to be filled in: "____ is down".
"""
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*(?P<language>\w?)", re.MULTILINE)
_LONGEST = 600
"""Maximum length of a quote in an answer, in characters."""
_MOST_CONTEXT = 2
"""Most sentences that are quoted before one that depends on them."""

_OPENERS = r"however|but|and|thus|therefore|also|then|moreover|furthermore|instead|hence|similarly"
_CLEFT = r"\s+(?:was|is)\s+(?:not\s+)?(?:(?:until|only)\b|(?:in|on)\s+(?-i:[A-Z\d]))[^.!?]*\sthat\b"
"""Follows the "it" of "It was not until 1871 that …", which refers to nothing. "It is on the street
that leads to the harbour" may refer to a shop."""
_LINKED = re.compile(
    rf"\W*(?:{_OPENERS}|consequently|as a result|in addition|for example|for instance|e\.g"
    r"|(?:\w+ )?\w+ (?:year|month|week|day|hour|minute)s? (?:later|earlier|afterwards)"
    r"|(?:the )?(?:former|latter)"
    r"|(?:the )?default(?:s to| (?:value |setting )?(?:is|are))"
    r"|(?:(?:by default,?|in|on|at|by|for|of|from|with|after|before|during|despite|because of)\s+)?"
    rf"(?:it(?!{_CLEFT})|its|this|these|those|such|that)"
    r"|(?:one|some|many|most|all|both|each|none) of (?:them|these|those))\b",
    re.IGNORECASE,
)
_PERSON = re.compile(r"\b(?:he|she|they|his|her|hers|their|theirs|him|them)\b", re.IGNORECASE)
_NAME = re.compile(r"\b[A-Z][\w'’-]*")
_THEY_ARE_NAMED = re.compile(
    r"(?:if|when|once|unless) (?:I|we|you)\b[^,]*\b[a-z]{2,}[^\W_s]s\b[^,]*, (?:they|their|them)\b",
    re.IGNORECASE,
)
"""Matches "If you add links, they …"."""
_NO_NAME = frozenset(
    """
    a after although an and as at because before by despite during for from if in into like on
    once since so though through to under until upon when where while with
    """.split()  # noqa: SIM905
)
_ITEM = re.compile(ITEM_MARK)
_MARKDOWN = re.compile(r"[ \t]*#")
_ENDS = re.compile(rf"(?![?？؟])[{STOPS}{PAUSES}][{CLOSERS}]*\Z")
_LONGEST_HEADING = 12
"""Maximum length of a heading, in words."""
_FEWEST = 4
"""Fewest words of a quote that says something; one with fewer is a heading."""
_ANNOUNCES = re.compile(r":$|\b(?:the following|as follows)\b", re.IGNORECASE)
"""Matches a sentence that leads to the next and says nothing by itself."""
_STATEMENT = re.compile(
    rf"(?!#+\s)(?:[^a-z].*(?![?？؟])[{STOPS}][{CLOSERS}\]]*\Z|.*[^:]: ?[^:])", re.DOTALL
)
"""Matches a whole sentence or a row of a table; no heading, question or item of a list."""


class Quote(NamedTuple):
    """A span of a passage: `passage.text[start:end]`."""

    passage: Passage
    start: int
    end: int
    heading: str = ""
    """The heading above it, if the passage contains it."""

    @property
    def text(self) -> str:
        """The quote on one line."""
        return " ".join(self.passage.text[self.start : self.end].split())

    @property
    def premise(self) -> str:
        """The quote as a model reads it, after the passage's title and the heading."""
        text = "\n".join(filter(None, (self.heading, self.text)))
        return self.passage.model_copy(update={"text": text}).premise

    @property
    def is_readable(self) -> bool:
        """Whether a line of an answer can show the quote: it is neither drawn nor very long."""
        drawn = _DRAWN.search(self.passage.text, self.start, self.end)
        return drawn is None and len(self.text) <= _LONGEST

    @property
    def says_something(self) -> bool:
        """Whether it is readable, longer than a heading, and does not only lead to the next."""
        long_enough = count_words(self.text) >= _FEWEST
        return self.is_readable and long_enough and not _ANNOUNCES.search(self.text)

    @property
    def is_statement(self) -> bool:
        """Whether it says something, and is a whole sentence or the row of a table; not code."""
        is_whole = _STATEMENT.match(self.text) is not None
        return self.says_something and is_whole and not self._is_code

    @property
    def _is_code(self) -> bool:
        """Whether it has a fence, or stands between two or after one that names a language.

        If the number of fences is odd, one was cut off: unknown.
        """
        fences = list(_FENCE.finditer(self.passage.text))
        before = [fence for fence in fences if fence.start() < self.end]
        if any(fence.start() >= self.start for fence in before):
            return True
        is_between = len(before) % 2 == 1 and len(fences) % 2 == 0
        return is_between or bool(before and before[-1]["language"])

    @property
    def stands_alone(self) -> bool:
        """Whether it can be understood without the sentences before it."""
        return not depends_on_context(self.text)

    def is_in(self, other: Quote) -> bool:
        """Whether another quote includes this one."""
        within = other.start <= self.start and self.end <= other.end
        return within and self.passage.id == other.passage.id

    def claim(self, number: int, verdict: Verdict) -> Claim:
        """Return the quote as a claim that cites its passage by this number."""
        said = quotation(self.passage, self.start, self.end)
        citation = Citation(passage_id=self.passage.id, number=number, **said)
        return Claim(text=self.text, citations=(citation,), verdict=verdict)


def quotes_in(passage: Passage, *, context: bool = True) -> Iterator[Quote]:
    """Yield a quote for each sentence of a passage, in order, without the numbers of list items.

    Args:
        passage: The passage to quote.
        context: Whether the quote of a sentence that depends on those before it includes them, up
            to a heading.
    """
    spans = split(passage.text)
    heading = ""
    for place, span in enumerate(spans):
        if is_heading(passage.text, span):
            heading = passage.text[span.start : span.end]
            yield Quote(passage, *span)
            continue
        first = place
        while (
            context
            and 0 < first > place - _MOST_CONTEXT
            and not is_heading(passage.text, spans[first - 1])
            and depends_on_context(passage.text[spans[first].start : spans[first].end])
        ):
            first -= 1
        item = _ITEM.match(passage.text, spans[first].start, span.end)
        yield Quote(passage, item.end() if item else spans[first].start, span.end, heading)


def heading_above(passage: Passage, sentence: str) -> str:
    """Return the heading in a passage above one of its sentences; empty if there is none."""
    heading, place = "", passage.text.find(sentence)
    for span in split(passage.text):
        if span.end > place:
            break
        if is_heading(passage.text, span):
            heading = passage.text[span.start : span.end]
    return heading


def is_heading(text: str, span: Span) -> bool:
    """Whether a sentence of a text is a heading: a short line without a full stop, above others."""
    line = text.rfind("\n", 0, span.start) + 1
    if text[line : span.start].strip("# \t") or text[span.end : span.end + 1] != "\n":
        return False
    if _MARKDOWN.match(text, line):
        return True
    said = text[span.start : span.end]
    if _ENDS.search(said) or LIST_ITEM.match(said) or ROW.match(said):
        return False
    return len(said.split()) <= _LONGEST_HEADING


def depends_on_context(sentence: str) -> bool:
    """Whether an English sentence refers to one before it.

    It does if it begins with a word such as "this" or "however", or names no one before its first
    "he", "she" or "they".
    """
    if _LINKED.match(sentence):
        return True
    person = _PERSON.search(sentence)
    if person is None or _THEY_ARE_NAMED.match(sentence):
        return False
    named = _NAME.findall(sentence[: person.start()])
    return all(word.lower() in _NO_NAME for word in named)


def find_quote(text: str, passage: Passage) -> Quote | None:
    """Find the sentences of a passage that contain exactly the words of a text, in order.

    They are whole: "the pier is 214 metres long" may follow "it is a myth that". If the words stand
    in several places, the shortest is found. Case, spaces, punctuation and how accents are encoded
    do not count. None if the passage has no such words, or the text no word.
    """
    wanted, said = (
        [unicodedata.normalize("NFC", word).casefold() for word in words(one)]
        for one in (text, passage.text)
    )
    length, offsets = len(wanted), starts(passage.text)
    places = range(len(said) - length + 1 if wanted else 0)
    spans = [
        (offsets[place], offsets[place + length - 1])
        for place in places
        if said[place : place + length] == wanted
    ]
    whole = list(quotes_in(passage, context=False)) if spans else []
    found = [
        around[0]._replace(end=around[-1].end)
        for first, last in spans
        if (around := [one for one in whole if first < one.end and one.start <= last])
    ]
    return min(found, key=lambda quote: len(quote.text), default=None)
