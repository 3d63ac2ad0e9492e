"""Filters for the templates, in addition to those of Jinja2."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from citeproof.text import count, ends_sentence, find, is_web, plain, seconds
from citeproof.types import shown_score

__all__ = ["FILTERS", "TESTS"]


def _pieces(
    text: str, sentences: Iterable[str], opposing: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Split a passage into pieces, each with its highlight: `said`, `opposing` or none."""
    text = plain(text, lines=True)
    looks = [""] * len(text)
    for look, quoted in (("said", sentences), ("opposing", opposing)):
        for sentence in quoted:
            if span := find(text, plain(sentence)):
                looks[slice(*span)] = [look] * (span[1] - span[0])
    places = groupby(range(len(text)), key=looks.__getitem__)
    return [(look, "".join(text[at] for at in piece)) for look, piece in places]


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
    "ended": ends_sentence,
    "served": lambda address: address.startswith("/api/documents/"),
    "web": is_web,
}
