"""Reads EPUB books."""

from __future__ import annotations

import posixpath
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from citeproof.errors import DocumentError
from citeproof.tools.documents.archives import Archive
from citeproof.tools.documents.base import Document, Part, unusable
from citeproof.tools.documents.html import read_html

_FIX = "Download it again, or convert it with calibre."
_CONTAINER = "META-INF/container.xml"
_END = b"</html"
_LOCKED = "META-INF/encryption.xml"


def read_epub(data: bytes, path: Path) -> Document:
    """Read the chapters of an EPUB in reading order, each as HTML."""
    archive = Archive(data, path, _FIX, has_doctypes=True)
    title, chapters = _spine(archive, path)
    parts: list[Part] = []
    problems: list[str] = []
    for number, name in enumerate(chapters, start=1):
        content = b""
        try:
            content = archive.read(name)
            chapter = read_html(content, Path(name))
        except DocumentError as error:
            if (why := error.why) and ("holds no text" not in why or not _ends(content)):
                problems.append(f"chapter {number} ({name}) was left out: {why}")
            continue
        problems += [f"chapter {number} ({name}): {problem}" for problem in chapter.problems]
        if not _ends(content):
            problems.append(f"chapter {number} ({name}) breaks off: it does not end as XHTML does")
        own = chapter.title if chapter.title not in {title, Path(name).stem} else ""
        for part in chapter.parts:
            if part.text[part.start : part.end].strip():
                headings = tuple(filter(None, dict.fromkeys([own, *part.headings])))
                headings = headings[1:] if headings and headings[0] == title else headings
                where = f"chapter {headings[0]}" if headings else f"part {number}"
                parts.append(replace(part, title=title, headings=headings, location=where))
    if not parts and _LOCKED in archive.names:
        raise unusable(path, "its chapters are encrypted", "Get it without copy protection.")
    if not parts:
        raise unusable(path, "no chapter holds any text", _FIX)
    return Document(str(path), title, tuple(parts), tuple(problems))


def _ends(chapter: bytes) -> bool:
    return _END in chapter.replace(b"\0", b"").lower()


def _spine(archive: Archive, path: Path) -> tuple[str, list[str]]:
    """Return the title, and the names of the chapters in reading order."""
    container = archive.xml(_CONTAINER)
    found = next((one.get("full-path", "") for one in container.iter("{*}rootfile")), "")
    package = archive.xml(found)
    title = next((" ".join((one.text or "").split()) for one in package.iter("{*}title")), "")
    chapters = {  # without the table of contents
        item.get("id"): posixpath.join(posixpath.dirname(found), unquote(item.get("href", "")))
        for item in package.iter("{*}item")
        if "nav" not in item.get("properties", "").split()
    }
    order = (chapters.get(one.get("idref")) for one in package.iter("{*}itemref"))
    return title or path.stem, list(dict.fromkeys(map(posixpath.normpath, filter(None, order))))
