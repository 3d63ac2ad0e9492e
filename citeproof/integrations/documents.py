"""Cuts documents that agents pass in, and reads documents for agents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pydantic import BaseModel

from citeproof.errors import InputError
from citeproof.text import whole
from citeproof.tools.documents.base import Document, Part
from citeproof.tools.documents.passages import cut
from citeproof.tools.toolbox import Toolbox
from citeproof.types import Passage

_LONGEST = 20_000
"""Most characters of an extract."""


class Extract(BaseModel, frozen=True, use_attribute_docstrings=True):
    """The text of a passage, or a piece of a document's text."""

    title: str
    source: str
    text: str
    start: int = 0
    """Where the piece begins in the whole text."""
    length: int
    """Length of the whole text in characters."""
    following: int | None = None
    """Where the next piece begins; None at the end."""


def cut_documents(texts: Sequence[str]) -> dict[int, list[Passage]]:
    """Cut texts into passages, by the number of the text from 1; blank texts keep their number.

    Raises:
        InputError: There is no text, or none has words.
    """
    numbered: dict[int, list[Passage]] = {}
    for number, text in enumerate(map(whole, texts), start=1):
        part = Part(text, 0, 0, len(text))
        numbered[number] = cut(Document(f"document {number}", "", (part,)))
    if not any(numbered.values()):
        raise InputError("There is no document to check against", fix="Give at least one text.")
    return numbered


async def read_extract(tools: Toolbox, place: str, start: int = 0) -> Extract:
    """Read the passage with an id, or a document by its path or source.

    Args:
        tools: The tools, with the index.
        place: Id of a passage, or path or source of a document.
        start: Character to begin at.

    Raises:
        InputError: There is no index, no such passage or document, or no text after `start`.
        StoreError: The index cannot be read.
    """
    index = tools.index
    if index is None:
        raise InputError("There is no index to read from", fix="Open the tools from settings.")
    if found := await asyncio.to_thread(index.get, [place]):
        text = found[0].text
    elif found := await asyncio.to_thread(index.document, place):
        text = "".join(_join(found))
    else:
        raise InputError(
            f"There is no passage or document {place!r}",
            fix="Search first: results have an `id` and a `source`.",
        )
    if start >= len(text):
        raise InputError(f"The text has {len(text):,} characters", fix="Begin before its end.")
    end = start + _LONGEST
    return Extract(
        title=found[0].title,
        source=found[0].source,
        text=text[start:end],
        start=start,
        length=len(text),
        following=end if end < len(text) else None,
    )


def _join(passages: Sequence[Passage]) -> Iterator[str]:
    """Yield the text of a document, with a heading line where a section or page begins."""
    first = passages[0]
    yield f"{first.place}\n\n{first.text}"
    for before, passage in pairwise(passages):
        if passage.place != before.place:
            yield f"\n\n{passage.place}\n"
        yield "\n" if passage.start <= before.end + 2 and passage.place == before.place else "\n\n"
        yield passage.text
