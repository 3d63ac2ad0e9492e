"""Finds where blocks of Markdown end, and puts blocks together to a text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citeproof.tools.documents.markdown_code import DEEP, closes_fence, columns

QUOTED = re.compile(r"[ \t]*>[ \t]?")
_BEGINS_QUOTE = re.compile(r"[ \t]*>+[ \t]+\S")
"""A mark without a space may end a tag that has several lines, so it only begins a paragraph."""


class Paragraphs:
    """The lines of a text, some of them set apart by blank lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._is_apart = False

    def add(self, line: str) -> None:
        """Add a line."""
        if self._is_apart and self.lines:
            is_ended = not self.lines[-1].strip()
            if is_ended and not line.strip():
                return
            self.lines += [] if is_ended or not line.strip() else [""]
        self._is_apart = False
        self.lines.append(line)

    def add_apart(self, text: str, indent: str) -> None:
        """Add paragraphs, each line indented."""
        self._is_apart = True
        for line in text.strip("\n").split("\n") if text else ():
            self.add(f"{indent}{line}" if line else "")
        self._is_apart = True


def quote_end(lines: Sequence[str], place: int) -> int:
    """The line after the quote that begins at a line, which is this line if none does."""
    after_text = place > 0 and lines[place - 1].strip()
    begins = _BEGINS_QUOTE if after_text else QUOTED
    end = place
    if begins.match(lines[place]):
        while end < len(lines) and QUOTED.match(lines[end]):
            end += 1
    return end


def indented_end(lines: Sequence[str], place: int, begin: int | None = None) -> int:
    """The line after the text that is indented below a line, from the next or another line on."""
    indent, end = columns(lines[place]) + DEEP, begin or place + 1
    for below in range(end, len(lines)):
        if lines[below].strip():
            if columns(lines[below]) < indent:
                break
            end = below + 1
    return end


def fence_end(lines: Sequence[str], place: int, fence: str) -> int:
    """The line that closes a fence, from a line on."""
    for end in range(place, len(lines)):
        if closes_fence(lines[end], fence):
            return end
    return len(lines)
