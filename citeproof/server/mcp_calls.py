"""What the tools of `/mcp` do: as at the other routes, they wait for a turn and show links."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, TypeVar

from mcp.server.fastmcp.exceptions import ToolError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from citeproof.errors import InputError
from citeproof.integrations.mcp_calls import Calls, Extract
from citeproof.runtime.moments import Moment
from citeproof.server.ask_routes import LONGEST_TEXT
from citeproof.server.asking import Asking, Message
from citeproof.server.document_routes import name_of
from citeproof.server.errors import describe
from citeproof.server.public import base_of, with_links
from citeproof.text import whole
from citeproof.tools.toolbox import Toolbox
from citeproof.types import CheckReport

T = TypeVar("T")
_LINK = re.compile(r"/api/documents/([0-9a-f]{32})/file$")


class ServedCalls(Calls):
    """The tools for clients that share the server, some on other machines."""

    def __init__(self, tools: Toolbox, asking: Asking) -> None:
        super().__init__(tools, asking.turns)
        self._asking = asking

    async def run(self, request: Request | None, work: Coroutine[Any, Any, T]) -> T:
        """Do the work of a call, and show links for paths and no details of unexpected errors."""
        assert request is not None, "every call comes over HTTP"
        try:
            return with_links(await super().run(request, work), base_of(request))
        except HTTPException:  # the client is gone
            raise
        except Exception as error:
            raise ToolError(describe(error)[1]["error"]["message"]) from error

    def moments(self, question: str, method: str) -> AsyncGenerator[Moment]:
        """Answer a question in its turn, as `/api/ask` does."""
        asked = Message(role="user", content=whole(question))  # models write halves of characters
        return self._asking.moments(self._asking.question([asked], method))

    async def check(self, text: str, documents: list[str] | None, k: int) -> CheckReport:
        """Check a text in its turn, unless it is too long."""
        if len(text) > LONGEST_TEXT:
            fix = f"Use at most {LONGEST_TEXT:,} characters."
            raise InputError("The text is too long", fix=fix)
        return await super().check(text, documents, k)

    async def read(self, place: str, start: int) -> Extract:
        """Read a passage, or a document by its link."""
        if self.tools.index and (link := _LINK.search(place)):
            place = await name_of(self.tools.index, link[1])
        return await super().read(place, start)


def quotes_no_request(record: logging.LogRecord) -> bool:
    """Return false for what the package `mcp` logs of requests that it cannot parse."""
    return not str(record.msg).startswith("Failed to validate ")
