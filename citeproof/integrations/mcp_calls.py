"""What the tools of the Model Context Protocol do; `mcp_server` offers them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterator, Sequence
from contextlib import aclosing
from itertools import pairwise
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.requests import Request

from citeproof.errors import InputError
from citeproof.graphs.registry import find_method
from citeproof.integrations.agent_tools import check_with_index
from citeproof.integrations.disconnect import until_gone
from citeproof.integrations.turns import Turns
from citeproof.runtime.background import cancelled_once
from citeproof.runtime.moments import STREAM, Moment, observe
from citeproof.text import whole
from citeproof.tools.checking.check import check
from citeproof.tools.documents.base import Document, Part
from citeproof.tools.documents.passages import cut
from citeproof.tools.toolbox import Toolbox
from citeproof.types import CheckReport, Passage

T = TypeVar("T")
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


class Found(BaseModel):
    """Results of a search, best first."""

    passages: tuple[Passage, ...]


class Calls:
    """The tools for a client on this machine; `citeproof serve` has its own for others.

    Results name documents by their paths: they are files of the client's user, who opens them so.
    """

    def __init__(self, tools: Toolbox, turns: Turns | None = None) -> None:
        self.tools = tools
        self.turns = turns or Turns()

    async def run(self, request: Request | None, work: Coroutine[Any, Any, T]) -> T:
        """Do the work of a call, until the client cancels it or, over HTTP, goes away.

        A client that went away could not fetch the result later: the server keeps no events.
        """
        return await cancelled_once(until_gone(request, work) if request else work)

    async def moments(self, question: str, method: str) -> AsyncGenerator[Moment]:
        """Yield the moments of a run, from its turn on."""
        stream = find_method(method).build(self.tools).astream({"question": question}, **STREAM)
        async with self.turns.turn(), aclosing(stream) as parts:
            async for part in parts:
                if moment := observe(*part):
                    yield moment

    async def check(self, text: str, documents: list[str] | None, k: int) -> CheckReport:
        """Check a text against documents, or against the index, in its turn."""
        async with self.turns.turn():
            if documents is None:
                return await check_with_index(self.tools, text, k)
            return await check(text, _cut(documents), self.tools.entailment, k=k)

    async def search(self, query: str, k: int) -> Found:
        """Search the index."""
        if self.tools.retriever is None:
            raise InputError("There is no index to search", fix="Index documents first.")
        return Found(passages=tuple(await self.tools.retriever.retrieve(query, k)))

    async def read(self, place: str, start: int) -> Extract:
        """Read the passage with an id, or a document by its path or source.

        Raises:
            InputError: There is no index, no such passage or document, or no text after `start`.
            StoreError: The index cannot be read.
        """
        index = self.tools.index
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


def _cut(texts: Sequence[str]) -> dict[int, list[Passage]]:
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


def _join(passages: Sequence[Passage]) -> Iterator[str]:
    """Yield the text of a document, with a heading line where a section or page begins."""
    first = passages[0]
    yield f"{first.place}\n\n{first.text}"
    for before, passage in pairwise(passages):
        if passage.place != before.place:
            yield f"\n\n{passage.place}\n"
        yield "\n" if passage.start <= before.end + 2 and passage.place == before.place else "\n\n"
        yield passage.text
