"""Reads passages that a model cites in words: "as stated in passage 1"."""

from __future__ import annotations

import re

from citeproof.tools.citations.marked_text import MarkedSentence, read_marked

_NUMBER = r"\[?\d{1,3}\]?"
_PASSAGES = rf"(?:the\s+)?passages?\s+(?P<numbers>{_NUMBER}(?:(?:,|,?\s+and|,?\s+or)\s+{_NUMBER})*)"
_SAID = r"as\s+(?:stated|mentioned|noted|described|reported|shown|said|indicated|explained|seen)"
_BY = rf"(?:{_SAID}\s+(?:in|by)|according\s+to|based\s+on)\s+{_PASSAGES}"
_BEHIND = re.compile(
    rf"(?<!\s),?[^\S\n]{{1,3}}\(?{_BY}\)?(?=[^\S\n]*(?:[.,;!?)]|and\b|but\b|$))", re.I | re.M
)
_BEFORE = re.compile(
    rf"(?P<start>^|(?<=[.!?])[^\S\n]{{1,3}}){_BY},\s+(?P<said>\W?\w[^\n]*?)(?P<stop>[.!?](?=\s|$)|$)",
    re.I | re.M,
)
_DIGITS = re.compile(r"\d+")


def read_reply(reply: str) -> list[MarkedSentence]:
    """The sentences of a model's reply, each with the numbers it cites by marks or in words."""
    return read_marked(mark_mentions(reply))


def mark_mentions(reply: str) -> str:
    """A reply with marks in place of mentions of passages.

    A claim that says where it is stated is not entailed by that passage, which says no such thing
    of itself.

    >>> mark_mentions("The tower is old, as stated in passage 1.")
    'The tower is old [1].'
    >>> mark_mentions("According to passages 1 and 2, it was lit in 1871.")
    'It was lit in 1871 [1][2].'
    """
    moved = _BEFORE.sub(_move, reply)
    return _BEHIND.sub(lambda found: f" {_marks(found)}", moved)


def _move(found: re.Match[str]) -> str:
    said = re.sub(r"\w", lambda first: first[0].upper(), found["said"], count=1)
    return f"{found['start']}{said} {_marks(found)}{found['stop']}"


def _marks(found: re.Match[str]) -> str:
    return "".join(f"[{number}]" for number in _DIGITS.findall(found["numbers"]))
