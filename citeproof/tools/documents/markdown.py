"""Reads Markdown and MDX: they are rendered as HTML, which is read like any other page."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from citeproof.tools.documents.base import Document
from citeproof.tools.documents.encodings import decode_any
from citeproof.tools.documents.html import read_markup
from citeproof.tools.documents.markdown_page import render
from citeproof.tools.documents.mdx import without_mdx

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


def read_markdown(data: bytes, path: Path) -> Document:
    """Read Markdown, split at headings; front matter gives the title and is left out."""
    raw, problems = decode_any(data, path)
    title, body = split_front_matter(raw)
    return read_markup(render(body), path, problems, title)


def read_mdx(data: bytes, path: Path) -> Document:
    """Read MDX: Markdown with components, whose titles and text stay, and scripts, which go."""
    raw, problems = decode_any(data, path)
    title, body = split_front_matter(raw)
    return read_markup(render(without_mdx(body), has_indented_code=False), path, problems, title)


def split_front_matter(raw: str) -> tuple[str, str]:
    """Return the title that the front matter gives, "" without one, and the text below it."""
    front = _FRONT_MATTER.match(raw)
    if not front:
        return "", raw
    named = _FRONT_TITLE.search(front[1])
    given = (named["folded"] or named["quoted"] or named["plain"] or "") if named else ""
    return " ".join(unescape(_TAG.sub("", given)).split()), raw[front.end() :]
