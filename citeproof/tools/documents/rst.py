"""Reads reStructuredText."""

from __future__ import annotations

import re
from pathlib import Path

from citeproof.tools.documents.base import Document, sections
from citeproof.tools.documents.encodings import decode_any
from citeproof.tools.documents.outline import outline

_ADORNED = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*")
_ROLE = re.compile(
    r":[\w:+.-]+:`([^`<]*?)(?:\s*<[^>`]*>)?`|`{1,2}([^`<]+?)(?:\s*<[^>`]*>)?`{1,2}_{0,2}"
)


def read_rst(data: bytes, path: Path) -> Document:
    """reStructuredText: its text as it is written, parted by its underlined headings.

    Raises:
        DocumentError: It is not text.
    """
    text, problems = decode_any(data, path)
    headings = _headings(text)
    title = next((name for *_, name in headings), path.stem)
    terms, kept = outline(text)
    parts = sections(text, sorted([*headings, *terms]), title, kept=kept)
    return Document(str(path), title, parts, problems)


def _headings(text: str) -> list[tuple[int, int, int, str]]:
    """Lines that are underlined, and maybe overlined; the order of their marks gives the level."""
    found: list[tuple[int, int, int, str]] = []
    styles: list[tuple[str, bool]] = []
    place, start = 0, 0
    above, before = "", ""
    for line in text.split("\n"):
        mark = _ADORNED.fullmatch(line)
        if mark and above.strip() and not _ADORNED.fullmatch(above):
            over = bool(_ADORNED.fullmatch(before)) and before[:1] == line[:1]
            named = over or (above[0].strip() and not before.strip())
            if named and len(line.rstrip()) >= min(len(above.rstrip()), 200) * 0.8:
                style = mark[1], over
                if style not in styles:
                    styles.append(style)
                begin = start - (len(before) + 1 if over else 0)
                level = min(styles.index(style) + 1, 6)
                name = _ROLE.sub(lambda one: one[1] or one[2] or "", above).strip()
                found.append((begin, place + len(line), level, name))
                line = ""
        before, above, start = above, line, place
        place += len(line) + 1 if line or not mark else len(mark[0]) + 1
    return found
