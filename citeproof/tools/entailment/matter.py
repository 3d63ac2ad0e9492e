"""Whether a text is about what a claim says, judging by their words."""

from __future__ import annotations

import re

_ABOUT = 0.6
"""Least share of the claim's longer words in a text on the same matter."""


def is_about(text: str, claim: str, share: float = _ABOUT) -> bool:
    """Whether at least this share of the claim's longer words occur in a text."""
    said, known = longer_words(claim), set(longer_words(text))
    return sum(word in known for word in said) >= share * len(said)


def longer_words(text: str) -> list[str]:
    """Return the words of at least four letters, and the numbers, in lower case."""
    return re.findall(r"\w{4,}|\d+", text.lower())
