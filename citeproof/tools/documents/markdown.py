"""Reads Markdown and MDX: they are rendered as HTML, which is read like any other page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import unescape
from pathlib import Path

from markdown_it import MarkdownIt

from citeproof.tools.documents.base import Document
from citeproof.tools.documents.encodings import decode_any
from citeproof.tools.documents.html import read_markup
from citeproof.tools.documents.markdown_marks import CODE
from citeproof.tools.documents.markdown_page import render

# It must begin with a key: other text below a rule is ordinary text.
_FRONT_MATTER = re.compile(
    r"\A\s*(?:\+\+\+[ \t]*\n|---[ \t]*\n(?=(?:[ \t]*(?:#[^\n]*)?\n)*[\w\"'][^\n:]*:\s))"
    r"(.*?\n)(?:---|\.\.\.|\+\+\+)[ \t]*(?:\n|\Z)",
    re.DOTALL,
)
_FRONT_TITLE = re.compile(
    r"^title[ \t]*[:=][ \t]*(?:[>|][-+]?[ \t]*\n(?P<folded>(?:[ \t]+\S.*\n)+)"
    r"|(?P<mark>[\"'])(?P<quoted>.*?)(?P=mark)[ \t]*(?:\#.*)?$"
    r"|(?P<plain>.*?)(?:[ \t]\#.*)?$)",
    re.MULTILINE,
)
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_IMPORT = re.compile(
    r"^import[ \t]+[\w{}*,$ \t]{1,300}[ \t]from[ \t]+([\"'])[^\"'\n]{1,300}\1;?[ \t\r]*$",
    re.MULTILINE,
)
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
_COMPONENT_TITLE = re.compile(r"""\s(?:title|label)=(["'])(.*?)\1""", re.DOTALL)


def read_markdown(data: bytes, path: Path) -> Document:
    """Read Markdown, split at headings; front matter gives the title and is left out.

    Docusaurus reads MDX in files of this ending too; imports tell.
    """
    return _read(data, path, is_mdx=False)


def read_mdx(data: bytes, path: Path) -> Document:
    """Read MDX: Markdown with components, whose titles and text stay, and scripts, which go."""
    return _read(data, path, is_mdx=True)


def _read(data: bytes, path: Path, *, is_mdx: bool) -> Document:
    raw, problems = decode_any(data, path)
    title, body = split_front_matter(raw)
    if is_mdx or _has_imports(body):
        page = render(_without_mdx(body), has_indented_code=False)
    else:
        page = render(body)
    return read_markup(page, path, problems, title)


def split_front_matter(raw: str) -> tuple[str, str]:
    """Return the title that the front matter gives, "" without one, and the text below it."""
    front = _FRONT_MATTER.match(raw)
    if not front:
        return "", raw
    named = _FRONT_TITLE.search(front[1])
    given = (named["folded"] or named["quoted"] or named["plain"] or "") if named else ""
    return " ".join(unescape(_TAG.sub("", given)).split()), raw[front.end() :]


def _without_mdx(raw: str) -> str:
    """Return the Markdown of an MDX file; a tag gives way to its title or label."""
    lines = raw.split("\n")
    blocks, place = list[str](), 0
    for begin, end in [*_code_blocks(raw), (len(lines), len(lines))]:
        text = _without_scripts(lines[place:begin])
        blocks += [_PIECE.sub(_say, text), *lines[begin:end]]
        place = end
    return "\n".join(blocks)


def _has_imports(raw: str) -> bool:
    """Return whether Markdown imports something outside of its blocks of code."""
    if not _IMPORT.search(raw):
        return False
    lines = raw.split("\n")
    for begin, end in _code_blocks(raw):
        lines[begin:end] = [""] * (end - begin)
    return any(map(_IMPORT.fullmatch, lines))


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
    title = _COMPONENT_TITLE.search(tag)
    return f"\n{title[2]}\n" if title else ""
