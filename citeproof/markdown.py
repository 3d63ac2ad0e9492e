"""Markdown for people, with untrusted text made harmless."""

from __future__ import annotations

import re
from collections.abc import Iterable

from citeproof.text import plain

_BLOCK = re.compile(r"^(\d{0,9})([-+#>.)])")


def literal(text: str) -> str:
    """Text that Markdown shows literally, on one line, in a paragraph, a list or a table."""
    escaped = plain(text).replace("&", "&amp;").replace("<", "&lt;")
    # A bracket may stay unless it forms a link.
    return re.sub(r"([\\`*_|~$]|\](?=[(\[:]))", r"\\\1", escaped)


def row(cells: Iterable[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(map(literal, cells))} |"


def paragraph(text: str) -> str:
    """Text that begins a paragraph, and does not form a heading or a list."""
    return _BLOCK.sub(r"\1\\\2", literal(text))
