"""Tells which lines of Markdown are code, and hides characters that are no marks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
"""The line that opens a block; one such as "```pip install x```" is inline code."""
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+")
DEEP = 4
"""Code is indented by this many columns more than the text around it, like the text of a box in
MkDocs, and that below a definition."""
ESCAPED = r"\\[!-+\--/<-@\[-`{-~]"
"""A pattern of a mark that stands for itself; LaTeX writes spaces as a backslash and `,:;`."""
_HIDDEN = dict(zip(b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", range(0xFDD0, 0xFDF0), strict=True))
"""Punctuation → code points that are no characters, so no text contains them."""
_SHOWN = {hidden: code for code, hidden in _HIDDEN.items()}


def hide_mark(mark: str) -> str:
    """Return an escaped mark as a character that nothing takes for a mark."""
    return mark.translate(_HIDDEN)


def show_marks(text: str) -> str:
    """Return a text with its hidden marks; its offsets stay valid."""
    return text.translate(_SHOWN)


@dataclass
class CodeLines:
    """Takes the lines of a text one after the other, and says whether each is code.

    That is a line of a fenced block, or one that is indented after a blank line. The text of a list
    is indented too, so there it must be indented further.
    """

    indented: bool = True
    """Whether indented lines are code; in MDX they are not."""
    fence: str = ""
    """The marks that opened the block, if one is open."""
    _depth: int = 0
    """The column at which the text of the list begins."""
    _may_begin: bool = True
    """Whether an indented block may begin or go on."""

    def take(self, line: str) -> bool:
        """Return whether the next line is code."""
        said = line.strip()
        if self.fence:
            if closes_fence(line, self.fence):
                self.fence = ""
            return True
        if not said:
            self._may_begin = True
            return False
        indent = columns(line)
        if self.indented and self._may_begin and indent >= self._depth + DEEP:
            return True
        item = _ITEM.match(said)
        if item:
            self._depth = indent + min(item.end(), DEEP)
        elif self._may_begin:
            self._depth = min(self._depth, indent)
        self._may_begin = False
        fence = _FENCE.match(said, item.end() if item else 0)
        self.fence = (fence[1] or fence[2]) if fence else ""
        return bool(fence)


def closes_fence(line: str, fence: str) -> bool:
    """Whether a line ends the block that these marks opened."""
    said = line.strip()
    return len(said) >= len(fence) and not said.strip(fence[0])


def begin_of(line: str) -> str:
    """The blanks at the beginning of a line."""
    return line[: len(line) - len(line.lstrip())]


def columns(line: str) -> int:
    """The number of columns by which a line is indented."""
    return len(begin_of(line).expandtabs(DEEP))


def split_code(text: str, *, indented: bool = True) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a text, and whether each belongs to a block of code."""
    lines = CodeLines(indented)
    for line in text.split("\n"):
        yield line, lines.take(line)
