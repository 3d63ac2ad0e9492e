"""Blanks characters that no reader of a document sees, though a language model does."""

from __future__ import annotations

from dataclasses import replace

from citeproof.text import INVISIBLE
from citeproof.tools.documents.base import Document


def without_invisible(document: Document) -> Document:
    """The document with a space for each such character, so that offsets hold; it tells of them."""
    found = 0
    texts: dict[int, str] = {}
    for part in document.parts:
        if id(part.text) not in texts:
            texts[id(part.text)], count = INVISIBLE.subn(" ", part.text)
            found += count
    if not found and not any(map(INVISIBLE.search, _names(document))):
        return document
    parts = tuple(
        replace(
            part,
            text=texts[id(part.text)],
            title=INVISIBLE.sub("", part.title),
            headings=tuple(INVISIBLE.sub("", name) for name in part.headings),
            location=INVISIBLE.sub("", part.location),
        )
        for part in document.parts
    )
    told = f"{found} invisible characters (tags, or controls of direction) in it were blanked"
    problems = (*document.problems, told) if found else document.problems
    return replace(
        document, title=INVISIBLE.sub("", document.title), parts=parts, problems=problems
    )


def _names(document: Document) -> set[str]:
    own = {name for part in document.parts for name in (part.title, part.location, *part.headings)}
    return own | {document.title}
