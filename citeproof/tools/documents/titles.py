"""Tells titles that somebody gave from those that programs leave."""

from __future__ import annotations

import re

_JUNK = re.compile(
    r"^(?:microsoft word\b|word document$|untitled|powerpoint|pr[eé]sentation\d*$|unbenannt"
    r"|slide \d*$|document\d*$|\W*$)|\.(?:docx?|tex|dvi|indd|pdf|pptx?|odt)$",
    re.IGNORECASE,
)


def usable_title(title: str) -> str:
    """The title, or nothing if a program made it up."""
    plain = " ".join(title.split())
    return "" if _JUNK.search(plain) else plain
