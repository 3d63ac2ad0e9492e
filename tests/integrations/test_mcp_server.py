"""The tools of the Model Context Protocol, called by its own client."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.memory import create_connected_server_and_client_session
from mcp.types import (
    CancelledNotification,
    CancelledNotificationParams,
    ClientNotification,
    TextContent,
)

from citeproof import Answer, CheckReport, Toolbox
from citeproof.errors import ModelOutageError
from citeproof.integrations.mcp_calls import Calls
from citeproof.integrations.mcp_server import build_mcp_server, protocol_stdout
from citeproof.integrations.turns import Turns
from citeproof.memory.index import Index
from citeproof.settings import ChromaSettings, RetrieverSettings
from tests.integrations.agents import BUILT, BURNT, LIT, calling, script, toolbox
from tests.server.serving import StuckModel, listening
from tests.tools.openai_stub import Reply, Stub, serve

QUESTION = "Who built the lighthouse?"
REPLIES = {"claim_generator": [BUILT, "DONE"], "citation_generator": {"citations": [1]}}


@asynccontextmanager
async def client(tools: Toolbox, calls: Calls | None = None) -> AsyncIterator[ClientSession]:
    server = build_mcp_server(tools, calls=calls)._mcp_server
    async with create_connected_server_and_client_session(server) as session:
        yield session


async def call(session: ClientSession, tool: str, **arguments: Any) -> tuple[str, Any]:
    """The text and the structure of a result; the client has validated the structure."""
    result = await session.call_tool(tool, arguments)
    assert not result.isError, result.content
    return text_of(result), result.structuredContent


def text_of(result: Any) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


@contextmanager
def over_http(tools: Toolbox, **how: Any) -> Iterator[str]:
    """The address of the server, on a port of its own."""
    with listening(build_mcp_server(tools, **how).streamable_http_app()) as url:
        yield f"{url}/mcp"


@asynccontextmanager
async def over_http_client(tools: Toolbox) -> AsyncIterator[ClientSession]:
    with over_http(tools) as url:
        async with (
            streamable_http_client(url) as (read, write, _),
            ClientSession(read, write) as session,
        ):
            told = (await session.initialize()).serverInfo
            assert (told.name, told.version) == ("citeproof", version("citeproof"))
            yield session


def stuck() -> tuple[StuckModel, Toolbox]:
    """A model that doesn't answer, and tools that ask it."""
    model = StuckModel({"claim_generator": BUILT})
    return model, toolbox(roles=dict.fromkeys(("claim_generator", "citation_generator"), model))


def test_logging_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])
    build_mcp_server(toolbox())
    assert logging.root.handlers == []


async def test_the_tools_tell_their_schemas() -> None:
    async with client(toolbox()) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert sorted(tools) == ["ask", "check", "read", "search"]
    ask: Any = tools["ask"]
    assert ask.inputSchema["required"] == ["question"]
    assert "vtg" in ask.inputSchema["properties"]["method"]["enum"]
    assert {"claims", "text", "status"} <= ask.outputSchema["properties"].keys()
    for tool in tools.values():
        assert tool.description
        assert tool.outputSchema
        assert all(one.get("description") for one in tool.inputSchema["properties"].values())


async def test_an_answer_comes_with_its_proof_and_progress_on_the_way() -> None:
    told: list[str] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    async with client(toolbox(replies=REPLIES)) as session:
        result = await session.call_tool("ask", {"question": QUESTION}, progress_callback=progress)
    answer = Answer.model_validate(result.structuredContent)
    assert answer.text == f"{BUILT[:-1]} [1]."
    assert answer.claims[0].verdict.status == "supported"
    said = f"{BUILT[:-1]} [1].\n[1] Harbour guide (https://x.org/guide)\nanswered"
    assert text_of(result) == said
    assert {"claim generator", f"supported 0.90: {BUILT}", f"accepted: {BUILT}"} <= set(told)


async def test_a_text_is_checked_against_the_index_or_against_documents() -> None:
    text = f"{BUILT[:-1]} [1]. {BURNT}"
    async with client(toolbox()) as session:
        said, structure = await call(session, "check", text=text)
        assert said == f"uncited: {BUILT}\nunsupported: {BURNT}"
        documents = [f"{LIT} {BURNT}", BUILT]
        _, other = await call(session, "check", text=text, documents=documents)
    assert CheckReport.model_validate(structure).invalid_citations == ()
    report = CheckReport.model_validate(other)
    assert [one.verdict for one in report.sentences] == ["misattributed", "uncited"]
    assert report.sentences[0].support[0].number == 2


async def test_passages_are_searched_and_documents_read(tmp_path: Path) -> None:
    long = "\n\n".join(f"The keeper wrote line {n} into the log of the tower." for n in range(900))
    (tmp_path / "log.md").write_text(f"# Log\n\n{long}\n", "utf-8")
    retriever = RetrieverSettings(kind="bm25")
    index = Index.open(ChromaSettings(in_memory=True), retriever)
    index.update([tmp_path])
    tools = toolbox().over(index.retriever())
    tools.index = index
    async with client(tools) as session:
        said, found = await call(session, "search", query="line 417", k=2)
        first = found["passages"][0]
        assert "line 417 " in first["text"]
        assert said.startswith(f"{first['id']}: Log")
        assert len(found["passages"]) == 2
        own, _ = await call(session, "read", place=first["id"])
        assert own == first["text"]
        pieces = []
        start: int | None = 0
        while start is not None:
            text, piece = await call(session, "read", place=first["source"], start=start)
            pieces.append(text)
            start = piece["following"]
    index.close()
    assert len(pieces) == 3
    lines = "".join(pieces).split("\n")
    assert [line for line in lines if line.startswith("The keeper")] == long.split("\n\n")


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("ask", {"question": QUESTION, "method": "x"}, "There is no method 'x'. Known: calm"),
        ("ask", {"question": " "}, "question"),
        ("ask", {"question": QUESTION}, "The model is gone: no power. Wait."),
        ("check", {"text": BUILT, "documents": []}, "no document to check against. Give at least"),
        ("check", {"text": BUILT, "documents": [" "]}, "no document to check against"),
        ("search", {"query": "x", "k": 0}, "greater than or equal to 1"),
        ("read", {"place": "x"}, "There is no index to read from"),
    ],
)
async def test_errors_say_what_to_do(tool: str, arguments: Any, said: str) -> None:
    gone = ModelOutageError("The model is gone", why="no power", fix="Wait.")
    async with client(toolbox(replies={"": gone})) as session:
        result = await session.call_tool(tool, arguments)
    assert result.isError
    assert said in text_of(result)


async def test_questions_and_checks_wait_for_their_turn() -> None:
    model, tools = stuck()
    turns = Turns(1, waiting=1)
    async with client(tools, Calls(tools, turns)) as session:
        asked = asyncio.create_task(session.call_tool("ask", {"question": QUESTION}))
        assert await asyncio.to_thread(model.stuck.wait, 60)
        waiting = asyncio.create_task(session.call_tool("check", {"text": BUILT}))
        while not turns.full:
            await asyncio.sleep(0.01)
        for tool, given in (("ask", {"question": QUESTION}), ("check", {"text": BUILT})):
            refused = await session.call_tool(tool, given)
            assert refused.isError
            assert "Too many requests are waiting. Try again in 5" in text_of(refused)
        assert not waiting.done()
        for task in (asked, waiting):
            task.cancel()


async def test_a_cancelled_request_ends_its_call_of_the_model() -> None:
    for transport in (client, over_http_client):
        model, tools = stuck()
        async with transport(tools) as session:
            number = session._request_id
            asked = asyncio.create_task(session.call_tool("ask", {"question": QUESTION}))
            assert await asyncio.to_thread(model.stuck.wait, 60)
            params = CancelledNotificationParams(requestId=number)
            told = ClientNotification(CancelledNotification(params=params))
            await session.send_notification(told)
            with pytest.raises(Exception, match="cancelled"):
                await asyncio.wait_for(asked, 60)
            assert await asyncio.to_thread(model.given_up.wait, 60)


@pytest.mark.parametrize(("checks", "status"), [(True, 421), (False, 200)])
def test_a_foreign_host_is_refused_unless_the_application_around_it_looks(
    checks: bool, status: int
) -> None:
    client = {"clientInfo": {"name": "x", "version": "1"}, "capabilities": {}}
    params = {"protocolVersion": "2025-06-18", **client}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    headers = {"Host": "evil.example", "Accept": "application/json, text/event-stream"}
    with over_http(toolbox(), check_hosts=checks) as url:
        assert httpx.post(url, json=body, headers=headers).status_code == status


async def test_langchain_agents_take_the_tools() -> None:
    with over_http(toolbox(replies=REPLIES)) as url:
        servers: Any = {"citeproof": {"transport": "streamable_http", "url": url}}
        tools = await MultiServerMCPClient(servers).get_tools()
        model = script(calling("ask", question=QUESTION), calling("check", text=BURNT), BUILT)
        agent: Any = create_agent(model, tools)
        result = await agent.ainvoke({"messages": [{"role": "user", "content": QUESTION}]})
    told = [str(one.text) for one in result["messages"] if isinstance(one, ToolMessage)]
    assert told[0].startswith(f"{BUILT[:-1]} [1].")
    assert told[1] == f"unsupported: {BURNT}"
    assert result["messages"][-1].text == BUILT


# Over stdio, in a process of its own


def replied(body: dict[str, Any]) -> Reply:
    if body.get("max_tokens") == 1 or body.get("max_completion_tokens") == 1:
        return Reply("Yes", top={"Yes": -0.01, "No": -5.0})
    return Reply(f"{BUILT[:-1]} [1].")


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serve(replied) as running:
        yield running


@pytest.fixture
def noisy(tmp_path: Path) -> Path:
    """A program that runs the command, and prints wherever it can."""
    program = tmp_path / "noisy.py"
    program.write_text(
        "import atexit, os, sys\n"
        "from citeproof import cli\n"
        "from citeproof.tools.toolbox import Toolbox\n"
        "opened = Toolbox.from_settings\n"
        "def noisily(*args, **more):\n"
        "    print('printed')\n"
        "    os.write(1, b'written\\n')\n"
        "    os.system('echo called')\n"
        "    return opened(*args, **more)\n"
        "Toolbox.from_settings = noisily\n"
        "cli.main()\n",
        "utf-8",
    )
    return program


async def test_it_is_served_over_stdio(stub: Stub, noisy: Path, tmp_path: Path) -> None:
    (tmp_path / "guide.txt").write_text(f"{BUILT} {LIT}\n", "utf-8")
    chroma = ChromaSettings(path=tmp_path / "store")
    index = Index.open(chroma, RetrieverSettings(kind="bm25"))
    index.update([tmp_path / "guide.txt"])
    index.close()
    settings = {
        "entailment.kind": "judge",
        "answerability.model": "none",
        "retriever.kind": "bm25",
        "chroma.path": str(chroma.path),
    }
    sets = [f"--set={key}={value}" for key, value in settings.items()]
    llm = json.dumps({"model": "m", "base_url": stub.url, "api_key": "x"})
    environment = {"CITEPROOF_LLM": llm, "PYTHONPATH": str(Path.cwd())}
    parameters = StdioServerParameters(
        command=sys.executable, args=[str(noisy), "mcp", *sets], env=environment, cwd=tmp_path
    )
    with (tmp_path / "stderr").open("w") as errors:
        async with (
            stdio_client(parameters, errlog=errors) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            asked = {"question": QUESTION, "method": "vanilla"}
            _, answer = await call(session, "ask", **asked)
            _, found = await call(session, "search", query="Who built it?")
    assert answer["text"] == f"{BUILT[:-1]} [1]."
    assert answer["claims"][0]["verdict"]["status"] == "supported"
    assert found["passages"][0]["title"] == "guide"
    printed = (tmp_path / "stderr").read_text()
    assert all(word in printed for word in ("printed", "written", "called"))
    assert "Traceback" not in printed


def test_an_interrupt_ends_it_though_it_reads() -> None:
    program = (
        "from citeproof.integrations.mcp_server import *\n"
        "from tests.integrations.agents import toolbox\n"
        "with protocol_stdout() as protocol:\n"
        "    serve_stdio(build_mcp_server(toolbox()), protocol)\n"
    )
    piped: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], **piped) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        running.stdin.flush()
        assert b'"id":1' in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == -signal.SIGINT


def test_what_prints_to_stdout_goes_elsewhere_only_meanwhile(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with protocol_stdout() as protocol:
        os.write(1, b"meanwhile\n")
        protocol.write("told\n")
        protocol.flush()
    os.write(1, b"after\n")
    out, err = capfd.readouterr()
    assert out == "told\nafter\n"
    assert err == "meanwhile\n"
