"""Blanks characters that no reader of a document sees, though a language model does."""

from __future__ import annotations

import re
from dataclasses import replace

from citeproof.tools.documents.base import Document

__all__ = ["without_invisible"]

_INVISIBLE = re.compile("[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069]")
"""Tags, which spell out ASCII unseen, and controls that turn the direction of other text."""


def without_invisible(document: Document) -> Document:
    """The document with a space for each such character, so that offsets hold; it tells of them."""
    found = 0
    texts: dict[int, str] = {}
    for part in document.parts:
        if id(part.text) not in texts:
            texts[id(part.text)], count = _INVISIBLE.subn(" ", part.text)
            found += count
    if not found and not any(map(_INVISIBLE.search, _names(document))):
        return document
    parts = tuple(
        replace(
            part,
            text=texts[id(part.text)],
            title=_INVISIBLE.sub("", part.title),
            headings=tuple(_INVISIBLE.sub("", name) for name in part.headings),
            location=_INVISIBLE.sub("", part.location),
        )
        for part in document.parts
    )
    told = f"{found} invisible characters (tags, or controls of direction) in it were blanked"
    problems = (*document.problems, told) if found else document.problems
    return replace(
        document, title=_INVISIBLE.sub("", document.title), parts=parts, problems=problems
    )


def _names(document: Document) -> set[str]:
    own = {name for part in document.parts for name in (part.title, part.location, *part.headings)}
    return own | {document.title}
