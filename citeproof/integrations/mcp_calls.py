"""What the tools of the Model Context Protocol do; `mcp_server` offers them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.requests import Request

from citeproof.errors import InputError
from citeproof.graphs.registry import find_method
from citeproof.integrations.agent_tools import check_with_index
from citeproof.integrations.disconnect import until_gone
from citeproof.integrations.documents import Extract, cut_documents, read_extract
from citeproof.integrations.turns import Turns
from citeproof.runtime.background import cancelled_once
from citeproof.runtime.moments import STREAM, Moment, observe
from citeproof.tools.checking.check import check
from citeproof.tools.toolbox import Toolbox
from citeproof.types import CheckReport, Passage

T = TypeVar("T")


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
            return await check(text, cut_documents(documents), self.tools.entailment, k=k)

    async def search(self, query: str, k: int) -> Found:
        """Search the index."""
        if self.tools.retriever is None:
            raise InputError("There is no index to search", fix="Index documents first.")
        return Found(passages=tuple(await self.tools.retriever.retrieve(query, k)))

    async def read(self, place: str, start: int) -> Extract:
        """Read a passage or a document."""
        return await read_extract(self.tools, place, start)
