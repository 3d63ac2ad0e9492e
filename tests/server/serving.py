"""A server over scripted models: its app in this process, or behind a real port."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from langchain_core.outputs import ChatResult
from pydantic import Field

from citeproof import Toolbox
from citeproof.memory.index import Index
from citeproof.server.app import create_app
from citeproof.settings import ChromaSettings, RetrieverSettings
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment
from citeproof.tools.entailment import Pair
from tests.graphs.scripts import BUILT, LIT, A, B

QUESTION = "Who built the tower, and when was it lit?"
ANSWER = "Ann Lee built the tower [1]. The tower was lit in 1871 [2]."


def reply(prompt: str) -> str:
    """VTG's replies: both claims in turn, then DONE."""
    if '{"citations"' in prompt:
        return json.dumps({"citations": [2 if LIT in prompt.rpartition("Sentence")[2] else 1]})
    if '{"questions"' in prompt:
        return '{"questions": ["When was it lit?"]}'
    task = prompt.rpartition("</passage>")[2]
    if LIT in task:
        return "DONE"
    return LIT if BUILT in task else BUILT


class StuckModel(ScriptedChatModel):
    """Replies once and then never; tells when it is asked again, and when its caller gives up."""

    stuck: Any = Field(default_factory=threading.Event)
    given_up: Any = Field(default_factory=threading.Event)

    def __init__(self, replies: Any) -> None:
        super().__init__(replies)

    async def _agenerate(
        self, *given: Any, run_manager: Any = None, **arguments: Any
    ) -> ChatResult:
        if not self.calls:
            return await super()._agenerate(*given, run_manager=run_manager, **arguments)
        self.stuck.set()
        try:
            never: asyncio.Future[ChatResult] = asyncio.Future()
            return await never
        finally:
            self.given_up.set()


class HeldEntailment(TableEntailment):
    """Scores nothing before it is released."""

    def __init__(self, scores: Any) -> None:
        super().__init__(scores)
        self.released = asyncio.Event()

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        await self.released.wait()
        return await super().scores(pairs)


def toolbox(model: Any = None, index: Index | None = None, entailment: Any = None) -> Toolbox:
    """Tools without real models, over two passages if there is no index."""
    tools = Toolbox(
        model or ScriptedChatModel(reply),
        retriever=index.retriever() if index else ListRetriever(lambda query: [A, B]),
        entailment=entailment
        or TableEntailment(lambda premise, claim: 0.9 if claim in premise else 0.1),
    )
    tools.index = index
    return tools


def word_index(folder: Path) -> Index:
    """A word index without vectors, in a folder."""
    chroma = ChromaSettings(path=folder)
    return Index.open(chroma, RetrieverSettings(kind="bm25"))


Tools = Callable[[Any], Toolbox] | Toolbox | None
"""What opens the server's tools, or the tools; by default those of `toolbox`."""


def _app(folder: Path, tools: Tools, **options: Any) -> Any:
    opening = tools if callable(tools) else (lambda progress: tools or toolbox())
    return create_app(opening, folder, llm="scripted", **options)


@asynccontextmanager
async def client(
    folder: Path,
    tools: Tools = None,
    **options: Any,
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the app, which runs for the duration of the block."""
    app = _app(folder, tools, **options)
    async with _living(app):
        transport = httpx.ASGITransport(app)
        url = "http://localhost:8080"
        async with httpx.AsyncClient(transport=transport, base_url=url, timeout=60) as opened:
            yield opened


@asynccontextmanager
async def _living(app: Any) -> AsyncIterator[None]:
    inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    outbox: asyncio.Queue[Any] = asyncio.Queue()
    running = asyncio.create_task(app({"type": "lifespan"}, inbox.get, outbox.put))
    await inbox.put({"type": "lifespan.startup"})
    assert (await outbox.get())["type"] == "lifespan.startup.complete"
    try:
        yield
    finally:
        await inbox.put({"type": "lifespan.shutdown"})
        await outbox.get()
        await running


@contextmanager
def served(folder: Path, tools: Tools = None, **options: Any) -> Iterator[str]:
    """The address of a real citeproof server, in a thread."""
    with listening(_app(folder, tools, **options)) as url:
        yield url


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """The address of a server of an app, in a thread."""
    # uvicorn's own logging would close absl's handler, which closes pytest's stderr.
    config = uvicorn.Config(app, port=0, log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


def events(body: str) -> list[tuple[str, Any]]:
    """Name and data of each server-sent event."""
    found = []
    for part in body.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in part.splitlines() if not line.startswith(":"))
        if "data" in lines:
            found.append((lines.get("event", ""), json.loads(lines["data"])))
    return found


def names(told: Sequence[tuple[str, Any]]) -> list[str]:
    """The names of events."""
    return [name for name, _ in told]
