"""Reads plain text."""

from __future__ import annotations

import re
from pathlib import Path

from citeproof.tools.documents.base import Document, decode, sections
from citeproof.tools.sentences import words

__all__ = ["read_text"]

_BLOCK = re.compile(r"(?:\A|(?<=\n\n)|(?<=\n[ \t]\n))[ \t]*(\S[^\n]*)\n[ \t]*\n\s*(?=\S)")


def read_text(data: bytes, path: Path) -> Document:
    """Plain text: a short line of its own above a paragraph is a heading."""
    text = decode(data, path)
    headings = [
        (match.start(1), match.end(1), 1, match[1].strip())
        for match in _BLOCK.finditer(text)
        if _is_heading(match[1].strip(), text[match.end() : match.end() + 400])
    ]
    title = path.stem
    if headings and not text[: headings[0][0]].strip():
        title = headings[0][3]
    return Document(str(path), title, sections(text, headings, title))


def _is_heading(line: str, below: str) -> bool:
    paragraph = below.split("\n\n", 1)[0]
    return (
        line[:1].isalnum()
        and not line[:1].islower()
        and line[-1] not in ".!?,;…"
        and len(words(line)) <= 12
        # Followed by running text, so that the items of a list are not taken for headings.
        and len(words(paragraph)) >= 20
    )
