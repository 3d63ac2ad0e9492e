"""citeproof for clients of the Model Context Protocol: `ask`, `check`, `search` and `read`.

`citeproof mcp` serves them over stdio; `build_mcp_server(tools).streamable_http_app()` is an ASGI
application for HTTP. Needs the package `mcp`, which the extra `serve` installs.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from contextlib import aclosing, contextmanager
from importlib.metadata import version
from typing import Annotated, Any, TextIO, TypeVar

import anyio
from mcp.server.fastmcp import FastMCP
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from citeproof.graphs.registry import METHODS
from citeproof.integrations.agent_tools import say_answer, say_passages, say_report
from citeproof.integrations.mcp_calls import Calls, Extract, Found
from citeproof.runtime.events import AnswerReady, ClaimAccepted, ClaimVerified
from citeproof.runtime.moments import Moment, NodeStarted
from citeproof.tools.toolbox import Toolbox
from citeproof.types import Answer, CheckReport

__all__ = ["build_mcp_server", "protocol_stdout", "serve_stdio"]

_INSTRUCTIONS = """\
Answers from the user's own documents, with proof. `ask` writes a cited answer and checks each of \
its sentences; `check` says for each sentence of any text whether the documents support it; \
`search` finds passages, and `read` shows them in their document. Before you send a text that \
states facts from these documents, check it, and correct what is unsupported or contradicted."""
_METHODS = [method.name for method in METHODS.values() if method.served]
_MOST = 50
_READS = ToolAnnotations(readOnlyHint=True, openWorldHint=False)

T = TypeVar("T", bound=BaseModel)
Question = Annotated[str, Field(description="One question, in words.")]
MethodName = Annotated[
    str, Field(description="Method; vtg proves most.", json_schema_extra={"enum": _METHODS})
]
Text = Annotated[
    str, Field(description="Sentences, with or without marks such as [1]; Markdown is understood.")
]
Documents = Annotated[
    list[str] | None,
    Field(description="Texts to check against: [1] cites the first. By default the index."),
]
Few = Annotated[int, Field(description="Number of passages.", ge=1, le=_MOST)]
Place = Annotated[str, Field(description="Id of a passage, or source of a document, as found.")]
Start = Annotated[int, Field(description="Character to begin at, in a long text.", ge=0)]


def build_mcp_server(
    tools: Toolbox, *, check_hosts: bool = True, calls: Calls | None = None
) -> FastMCP[Any]:
    """Build the server; the caller opens and closes the tools.

    Expected errors become results with `isError`, which say what failed, why, and what to do.
    Cancelling a request stops its run, and so does the end of its connection over HTTP.

    Args:
        tools: The models and the retriever to answer with.
        check_hosts: Over HTTP, refuse requests whose `Host` is not a loopback name, which keeps web
            pages out (DNS rebinding). Switch it off only if the application around it checks hosts.
        calls: What the tools do, if it is not the usual.
    """
    calls = calls or Calls(tools)
    # FastMCP gives the root logger a handler, unless it has one.
    logging.root.addHandler(placeholder := logging.NullHandler())
    server: FastMCP[Any] = FastMCP(
        "citeproof",
        instructions=_INSTRUCTIONS,
        transport_security=None
        if check_hosts
        else TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )

    logging.root.removeHandler(placeholder)
    server._mcp_server.version = version("citeproof")  # by default that of the package `mcp`

    async def reply(work: Coroutine[Any, Any, T], say: Callable[[T], str]) -> CallToolResult:
        """Return what the work of a call finds, as text and as JSON."""
        found = await calls.run(server.get_context().request_context.request, work)
        content = TextContent(type="text", text=say(found))
        return CallToolResult(content=[content], structuredContent=found.model_dump(mode="json"))

    @server.tool(title="Ask, with proof", annotations=_READS)
    async def ask(
        question: Question, method: MethodName = "vtg"
    ) -> Annotated[CallToolResult, Answer]:
        """Answer a question from the indexed documents; each sentence is cited and checked.

        It may take minutes on a small machine. `not found` means that the documents do not say.
        """
        tell = server.get_context().report_progress
        return await reply(_answer(calls.moments(question, method), tell), say_answer)

    @server.tool(title="Check a text", annotations=_READS)
    async def check(
        text: Text, documents: Documents = None, k: Few = 5
    ) -> Annotated[CallToolResult, CheckReport]:
        """Say for each sentence of a text which passages support or contradict it.

        With `documents`, marks such as [1] are checked too: a sentence is `misattributed` if a
        document other than the cited one supports it. Against the index, marks do not count: a
        sentence is `uncited` if a passage supports it.
        """
        return await reply(calls.check(text, documents, k), say_report)

    @server.tool(title="Search the documents", annotations=_READS)
    async def search(query: Question, k: Few = 5) -> Annotated[CallToolResult, Found]:
        """Find the passages of the indexed documents that come nearest to a question."""
        return await reply(calls.search(query, k), lambda found: say_passages(found.passages))

    @server.tool(title="Read a document", annotations=_READS)
    async def read(place: Place, start: Start = 0) -> Annotated[CallToolResult, Extract]:
        """Show a passage, or the text of a whole document in pieces of 20,000 characters."""
        return await reply(calls.read(place, start), lambda extract: extract.text)

    return server


@contextmanager
def protocol_stdout() -> Iterator[TextIO]:
    """Yield the process's stdout; other output in the block, also from C code, goes to stderr."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n") as protocol:
        os.dup2(2, 1)
        try:
            yield protocol
        finally:
            sys.stdout.flush()
            os.dup2(protocol.fileno(), 1)


def serve_stdio(server: Any, protocol: TextIO) -> None:
    """Serve the client on stdin and `protocol` until it closes stdin."""

    async def serve() -> None:
        own = server._mcp_server  # `run_stdio_async` would write to the stdout that others use
        async with stdio_server(stdout=anyio.wrap_file(protocol)) as streams:
            await own.run(*streams, own.create_initialization_options())

    # Python's own handler would wait for the thread that reads stdin.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        asyncio.run(serve())
    finally:
        signal.signal(signal.SIGINT, before)


async def _answer(run: AsyncGenerator[Moment], tell: Callable[..., Awaitable[None]]) -> Answer:
    """Return the answer of a run, and report its progress to the client."""
    answer: Answer | None = None
    steps = 0
    async with aclosing(run) as moments:
        async for moment in moments:
            if isinstance(moment.event, AnswerReady):
                answer = moment.event.answer
            if line := _line(moment):
                steps += 1
                await tell(steps, message=line)
    assert answer is not None, "a run ends with its answer"
    return answer


def _line(moment: Moment) -> str:
    match moment.event:
        case NodeStarted(node=node):
            return node.replace("_", " ")
        case ClaimVerified(text=text, verdict=verdict):
            return f"{verdict}: {text}"
        case ClaimAccepted(claim=claim):
            return f"accepted: {claim.text}"
    return ""
