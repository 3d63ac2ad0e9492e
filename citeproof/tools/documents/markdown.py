"""Reads Markdown."""

from __future__ import annotations

import re
from pathlib import Path

from citeproof.tools.documents.base import Document, sections
from citeproof.tools.documents.encodings import decode_any
from citeproof.tools.documents.outline import outline

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")


# Only what begins with a key: other text below a rule is text.
_FRONT_MATTER = re.compile(
    r"\A---[ \t]*\n(?=(?:[ \t]*(?:#[^\n]*)?\n)*[\w\"'][^\n:]*:\s)"
    r"(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)",
    re.DOTALL,
)
_FRONT_TITLE = re.compile(r"^title:[ \t]*[\"']?(.+?)[\"']?[ \t]*$", re.MULTILINE)
_INLINE = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*`]|(?<!\w)_+|_+(?!\w)")


def read_markdown(data: bytes, path: Path) -> Document:
    """Markdown: its headings part it; front matter gives the title and is left out."""
    text, problems = decode_any(data, path)
    front = _FRONT_MATTER.match(text)
    headings = list(markdown_headings(text, front.end() if front else 0))
    title = next((name for *_, level, name in headings if level == 1 and name), "")
    title = title or next((name for *_, name in headings if name), path.stem)
    if front and (found := _FRONT_TITLE.search(front[1])):
        title = found[1]
    terms, kept = outline(text)
    begin = front.end() if front else 0
    terms = [term for term in terms if term[0] >= begin]
    parts = sections(text, sorted([*headings, *terms]), title, begin=begin, kept=kept)
    return Document(str(path), title, parts, problems)


def markdown_headings(text: str, begin: int) -> list[tuple[int, int, int, str]]:
    """The headings of a text from an offset on, as `sections` takes them."""
    found: list[tuple[int, int, int, str]] = []
    fence, place = "", begin
    above, above_at = "", begin
    for line in text[begin:].split("\n"):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            above = ""
        elif mark:
            fence, above = mark[1][:3], ""
        elif match := _HEADING.match(line):
            found.append((place, place + len(line), len(match[1]), _plain(match[2])))
            above = ""
        elif (match := _UNDERLINE.match(line)) and above:
            level = 1 if "=" in match[1] else 2
            found.append((above_at, place + len(line), level, _plain(above)))
            above = ""
        else:
            # Only a line that follows a blank one: in a paragraph, `---` ends a table's head.
            fresh = line.strip() and not text[max(begin, place - 2) : place].strip()
            above, above_at = (line if fresh and "|" not in line else ""), place
        place += len(line) + 1
    return found


def _plain(heading: str) -> str:
    return _INLINE.sub(lambda match: match[1] or "", heading).strip()
