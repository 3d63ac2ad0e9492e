"""Turns MDX into Markdown: without scripts and values, with the text of components."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt

from citeproof.tools.documents.markdown_marks import CODE

_SCRIPT = re.compile(r"(?:import|export)\b")
_LONGEST = 200
"""Most lines of a script; a bracket in one of its texts may seem to stay open."""
_ATTRIBUTE = (
    r"""(?:[\w:-]+(?:=(?:"[^"]{0,2000}"|'[^']{0,2000}'|\{(?:[^{}]|\{[^{}]{0,500}\}){0,500}\}))?"""
    r"|\{[^{}]{0,500}\})"
)
_PIECE = re.compile(
    rf"(?P<kept>{CODE}|\\[<{{])"
    rf"|(?P<tag></?(?:[A-Z][\w.]*+(?:\s+{_ATTRIBUTE})*+\s*/?)?>)"
    r"|\{/\*(?:[^*{]|\{(?!/\*)|\*(?!/)){0,5000}\*/\}"
    r"""|\{\s*(?P<mark>["'`])(?P<said>[^"'`{}]{0,500})(?P=mark)\s*\}"""
    r"|\{\w+(?:\.\w+|\[[^\]{}]{0,100}\])*+\}"
)
"""Code, a tag of a component, a comment, a text, or a value."""
_TITLE = re.compile(r"""\s(?:title|label)=(["'])(.*?)\1""", re.DOTALL)


def without_mdx(raw: str) -> str:
    """Return the Markdown of an MDX file; a tag gives way to its title or label."""
    lines = raw.split("\n")
    blocks, place = list[str](), 0
    for begin, end in [*_code_blocks(raw), (len(lines), len(lines))]:
        text = _without_scripts(lines[place:begin])
        blocks += [_PIECE.sub(_say, text), *lines[begin:end]]
        place = end
    return "\n".join(blocks)


@cache
def _fences() -> MarkdownIt:
    return MarkdownIt("zero").enable("fence")


def _code_blocks(raw: str) -> list[tuple[int, int]]:
    """The lines of blocks of code: the first of each, and the one after the last."""
    maps = (token.map for token in _fences().parse(raw) if token.type == "fence")
    return [(lines[0], lines[1]) for lines in maps if lines]


def _without_scripts(lines: Sequence[str]) -> str:
    """Return a text without imports and exports, which begin after a blank line."""
    kept, place, may_begin = list[str](), 0, True
    while place < len(lines):
        is_script = may_begin and bool(_SCRIPT.match(lines[place]))
        end = _script_end(lines, place) if is_script else place + 1
        kept += [] if is_script else lines[place:end]
        may_begin = is_script or not lines[place].strip()
        place = end
    return "\n".join(kept)


def _script_end(lines: Sequence[str], begin: int) -> int:
    """The line after the one that closes a script's brackets, or its paragraph if none does."""
    opened = 0
    for place, line in enumerate(lines[begin : begin + _LONGEST], begin):
        opened += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        if opened <= 0:
            return place + 1
    return next((n for n in range(begin, len(lines)) if not lines[n].strip()), len(lines))


def _say(found: re.Match[str]) -> str:
    """What stays of a piece."""
    if not (tag := found["tag"]):
        return found["kept"] or found["said"] or ""
    title = _TITLE.search(tag)
    return f"\n{title[2]}\n" if title else ""
