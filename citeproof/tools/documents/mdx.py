"""Turns MDX into Markdown: without scripts and values, with the text of components."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from textwrap import dedent

from citeproof.tools.documents.markdown_code import split_code
from citeproof.tools.documents.markdown_inline import CODE

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
    """Return the Markdown of an MDX file; a tag gives way to its title or label.

    MDX has no indented code, so the text of components loses its indent.
    """
    blocks = list[str]()
    for is_code, lines in groupby(split_code(raw, indented=False), key=itemgetter(1)):
        text = "\n".join(line for line, _ in lines)
        blocks.append(text if is_code else _without_components(_without_scripts(text)))
    return "\n".join(blocks)


def _without_scripts(text: str) -> str:
    """Return a text without imports and exports, which begin after a blank line."""
    lines = text.split("\n")
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


def _without_components(text: str) -> str:
    pieces, place = [""], 0
    for found in _PIECE.finditer(text):
        pieces[-1] += text[place : found.start()]
        place = found.end()
        if tag := found["tag"]:
            title = _TITLE.search(tag)
            pieces += [title[2] if title else "", ""]
        else:
            pieces[-1] += found["kept"] or found["said"] or ""
    pieces[-1] += text[place:]
    return "".join(dedent(piece) if piece.startswith("\n") else piece for piece in pieces)
