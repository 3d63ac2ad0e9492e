"""Filters for the templates, in addition to those of Jinja2."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from citeproof.text import count, find, is_web, plain, seconds
from citeproof.types import shown_score

__all__ = ["FILTERS", "TESTS"]


def _pieces(text: str, sentences: Iterable[str]) -> list[tuple[bool, str]]:
    """Split a passage into pieces, each with whether it belongs to a highlighted sentence."""
    text = plain(text, lines=True)
    inside = [False] * len(text)
    for sentence in sentences:
        if span := find(text, plain(sentence)):
            inside[slice(*span)] = [True] * (span[1] - span[0])
    places = groupby(range(len(text)), key=inside.__getitem__)
    return [(marked, "".join(text[at] for at in piece)) for marked, piece in places]


FILTERS: dict[str, Callable[..., Any]] = {
    "at": "{:.1f}".format,
    "count": count,
    "line": plain,
    "pieces": _pieces,
    "score": shown_score,
    "seconds": seconds,
    "share": "{:.3f}%".format,
    "words": lambda name: name.replace("_", " "),
}
TESTS: dict[str, Callable[..., bool]] = {
    "served": lambda address: address.startswith("/api/documents/"),
    "web": is_web,
}
