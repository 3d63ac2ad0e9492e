"""Reads text that cites by marks or in words: which sentence cites which numbers."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from citeproof.tools.sentences import split

_NUMBER = r"(?:(?:passages?|documents?|sources?)\s+)?\d{1,6}"
MARK = rf"\[\s*({_NUMBER}(?:\s*(?:,|;|&|-|–|to|and)\s*{_NUMBER})*)\s*\]"
"""A citation mark: its numbers are the group."""
_MARK = re.compile(MARK, re.IGNORECASE)
# Possibly followed by the address of a Markdown link, or in superscript.
_ADDRESS = r"\((?:https?://|#)[^\s()]*(?:\([^\s()]*\)[^\s()]*)*\)"
_ONE = rf"(?:<sup>)?(?:{MARK}|\[{MARK}\])(?:{_ADDRESS})?(?:</sup>)?"
_RUN = rf"{_ONE}(?:[^\S\n]*(?:[,–-][^\S\n]*)?{_ONE})*"  # "[1], [2]" and "[1]–[3]" as well
# "([1])", "(Source: [1])", and ChatGPT's "([Wikipedia][1])".
_NAMED = rf"(?:(?!{MARK})\[[^\[\]\n]{{1,80}}\])?{_ONE}"
_ASIDE = (
    r"\([^\S\n]*(?:(?:sources?|see|see also|cf\.|refs?\.?|references?):?[^\S\n]+)?"
    rf"{_NAMED}(?:(?:[^\S\n]*[,;–-])?[^\S\n]*{_NAMED})*[^\S\n]*\)"
)
# "It is old.[1]:12–13": pages, as encyclopedias give them.
_PAGED = rf"(?<=[.!?])(?:{MARK})+:[^\S\n]?\d{{1,4}}(?:[–-]\d{{1,4}})?(?=\s|$|\[)"
# Code comes first: `sys.argv[1]` is an index. The lookbehind saves a try from every space of a run.
_MARKS = re.compile(
    rf"`[^`\n]+`|(?<![^\S\n])(?:[^\S\n]*(?:{_PAGED}|{_RUN}|{_ASIDE}))+", re.IGNORECASE
)
_TO = re.compile(r"\s*\][^\S\n]*[–-][^\S\n]*\[\s*")
_SPACE = re.compile(r"[^\S\n]*")
_PART = re.compile(r"(\d+)(?:\s*(?:-|–|to)\s*\D*(\d+))?", re.IGNORECASE)
_LONGEST_RANGE = 100
_EMPHASIS = ("**", "**"), ("__", "__"), ("*", "*"), ("_", "_")
_QUOTES = ('"', '"'), ("“", "”")
_BULLET = re.compile(r"^(?:[-*+•◦‣▪●#>:]+|o(?=\t)|\d{1,3}[.)]|[ivx]{2,5}[.)])\s+")
_LABEL = re.compile(r"[ivx]{1,5}[.)]")
_BELOW = re.compile(r"[^\S\n]*\n[^\S\n]*[\"“'‘(*_]*(\w)")
# "as stated in passage 1", "According to passages 1 and 2, …", and "The passage states that …".
_CITED = r"\[?\d{1,3}\]?"
_PASSAGES = r"(?:the\s+)?passages?"
_THESE = rf"\s+{_CITED}(?:(?:,|,?\s+and|,?\s+or)\s+{_CITED})*"
_STATED = r"as\s+(?:stated|mentioned|noted|described|reported|shown|said|indicated|explained|seen)"
_BY = rf"(?:{_STATED}\s+(?:in|by)|according\s+to|based\s+on)\s+{_PASSAGES}"
_SAYS = r"(?:states?|says?|mentions?|notes?|reports?|shows?|indicates?|explains?)\s+that"
_BEHIND = re.compile(
    rf"(?<!\s),?[^\S\n]{{1,3}}\(?(?P<by>{_BY}{_THESE})\)?(?=[^\S\n]*(?:[.,;!?)]|and\b|but\b|$))",
    re.I | re.M,
)
_BEFORE = re.compile(
    r"(?P<start>^|(?<=[.!?])[^\S\n]{1,3})"
    rf"(?P<by>{_BY}(?:{_THESE})?,|{_PASSAGES}(?:{_THESE})?\s+{_SAYS})\s+"
    r"(?P<said>\W?\w[^\n]*?)(?P<stop>[.!?](?=\s|$)|$)",
    re.I | re.M,
)


class MarkedSentence(NamedTuple):
    """A sentence, and the numbers that its marks name, in order and each once."""

    text: str
    numbers: tuple[int, ...]


def read_marked(text: str) -> list[MarkedSentence]:
    """Read the sentences of a text without their marks, each with the numbers it cites.

    Marks are `[1]`, `[1][2]`, `[1, 2]`, `[1-3]` and `[passage 1]`. A mark after a full stop belongs
    to the sentence that ends there, and a mark at the start of a line to the sentence after it. Any
    number is read; the caller must check that a passage has it. Bullets are removed, and so are
    sentences without a letter or digit.
    """
    plain, marks = separate_marks(text)
    # Punctuation alone is not a sentence: a mark after it belongs to the text before it.
    spans = [span for span in split(plain) if any(map(str.isalnum, plain[slice(*span)]))]
    # Nor is an item's number, such as `ii.`, unless there is nothing else.
    spans = [span for span in spans if not _LABEL.fullmatch(plain[slice(*span)])] or spans
    starts = [span.start for span in spans]
    cited: list[list[int]] = [[] for _ in spans]
    for place, numbers in marks:
        if spans:
            cited[max(0, bisect_left(starts, place) - 1)] += numbers
    found = [
        MarkedSentence(
            unwrap(_BULLET.sub("", plain[span.start : span.end]), quotes=False),
            tuple(dict.fromkeys(numbers)),
        )
        for span, numbers in zip(spans, cited, strict=True)
    ]
    return [sentence for sentence in found if any(map(str.isalnum, sentence.text))]


def join_sentences(sentences: Sequence[MarkedSentence]) -> MarkedSentence:
    """Join sentences into one that cites what any of them cites."""
    numbers = dict.fromkeys(number for sentence in sentences for number in sentence.numbers)
    return MarkedSentence(" ".join(sentence.text for sentence in sentences), tuple(numbers))


def read_reply(reply: str) -> list[MarkedSentence]:
    """Read the sentences of a reply, each with the numbers that it cites by marks or in words."""
    return read_marked(mark_mentions(reply))


def mark_mentions(reply: str) -> str:
    """Replace mentions of passages in a reply by marks; drops mentions without a number.

    A passage does not entail a claim that also names where it is stated, since no passage says that
    about itself.

    >>> mark_mentions("The tower is old, as stated in passage 1.")
    'The tower is old [1].'
    >>> mark_mentions("According to passages 1 and 2, it was lit in 1871.")
    'It was lit in 1871 [1][2].'
    >>> mark_mentions("The passage states that it was lit in 1871.")
    'It was lit in 1871.'
    """
    moved = _BEFORE.sub(_move, reply)
    return _BEHIND.sub(_numbered, moved)


def unwrap(text: str, *, quotes: bool = True) -> str:
    """Remove the emphasis and the quotation marks around a whole text.

    Half of a pair that a split has separated is removed as well. Pairs around a part stay.
    """
    text = text.strip()
    for left, right in (*_EMPHASIS, *_QUOTES, *_EMPHASIS) if quotes else _EMPHASIS:
        inner = text.removeprefix(left).removesuffix(right).strip()
        if left not in inner and right not in inner:
            text = inner
    return text


def separate_marks(text: str) -> tuple[str, list[tuple[int, list[int]]]]:
    """Return the text without marks, and each mark's place in it, after its sentence's start."""
    parts: list[str] = []
    place, done, begins_line = 0, 0, True
    marks = []
    for match in _MARKS.finditer(text):
        if match[0].startswith("`"):
            continue
        part = text[done : match.start()]
        begins_line = not part.rpartition("\n")[2].strip() and (begins_line or "\n" in part)
        parts.append(part)
        place, done = place + len(part), match.end()
        space = _SPACE.match(text, done)
        assert space is not None
        goes_on = text[space.end() : space.end() + 1] not in ("", "\n")
        after = space.end() - done + 1 if begins_line and goes_on else 0
        numbers = [n for inside in _MARK.findall(_TO.sub("–", match[0])) for n in _numbers(inside)]
        marks.append((place + after, numbers))
        below = _BELOW.match(text, done)
        if below and not begins_line and below[1].isupper():
            parts.append("\n")  # the mark ends a sentence without a full stop
            place += 1
    return "".join([*parts, text[done:]]), marks


def _numbers(inside: str) -> Iterator[int]:
    for first, last in _PART.findall(inside):
        low, high = int(first), int(last or first)
        yield from range(low, min(high, low + _LONGEST_RANGE) + 1)


def _move(found: re.Match[str]) -> str:
    said = re.sub(r"\w", lambda first: first[0].upper(), found["said"], count=1)
    return f"{found['start']}{said}{_numbered(found)}{found['stop']}"


def _numbered(found: re.Match[str]) -> str:
    marks = "".join(f"[{number}]" for number in re.findall(r"\d+", found["by"]))
    return f" {marks}" if marks else ""
