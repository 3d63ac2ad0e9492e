"""Removes the marks of emphasis and the addresses of links from Markdown, for clean quotes."""

from __future__ import annotations

import re

from citeproof.tools.documents.markdown_code import split_code

CODE = r"(?P<code>`[^`]+`|``.+?``)"
_EMPHASIS = re.compile(
    CODE + r"|(?<![\w*])(?P<stars>\*{1,3})(?=[^\s*])(?P<said>[^*\n]*[^\s*])(?P=stars)(?![\w*])"
    r"|(?<![\w_])(?P<lines>_{1,3})(?=[^\s_])(?P<told>[^_\n]*[^\s_])(?P=lines)(?![\w_])"
)
"""Emphasised words, and inline code, which may contain the same marks."""
# The lengths are limited, since each of many brackets would be searched to the end of the line.
_LINK = re.compile(
    CODE + r"|<(?P<bare>https?://[^<>\s]{1,2000})>"
    r"|!?\[(?P<words>(?:[^\[\]\n]|\[[^\[\]\n]{0,50}\](?!\()){0,300})\]"
    r"(?:(?P<address>\((?:[^()\n]|\([^()\n]{0,300}\)){0,1000}\))|\[(?P<name>[^\[\]\n]{0,300})\])?"
)
"""A link or picture, with an address or the name of one; an address alone; and inline code."""
_ADDRESS = re.compile(r"^ {0,3}\[(?P<name>[^\[\]^\n][^\[\]\n]{0,300})\]:[ \t]+\S.*$")
"""The line that gives a name to an address; a footnote, `[^1]: text`, is none."""


def without_marks(text: str) -> str:
    """Return Markdown without emphasis and addresses of links; code and line breaks are kept."""
    lines = list(split_code(text))
    named = {
        found["name"].lower()
        for line, is_code in lines
        if not is_code and (found := _ADDRESS.match(line))
    }

    def link(found: re.Match[str]) -> str:
        if found["bare"]:
            return found["bare"]
        if found["address"] or (found["name"] or found["words"] or "").lower() in named:
            return found["words"]
        return found[0]

    def plain(line: str) -> str:
        if named and _ADDRESS.match(line):
            return ""
        for pattern, words in ((_LINK, link), (_EMPHASIS, _emphasised)):
            line = pattern.sub(words, pattern.sub(words, line))  # one may contain another
        return line

    return "\n".join(line if is_code else plain(line) for line, is_code in lines)


def _emphasised(found: re.Match[str]) -> str:
    return found["code"] or found["said"] or found["told"]
