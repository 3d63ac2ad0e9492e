"""`/mcp`: the Model Context Protocol, served once the models are there."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from citeproof.testing import TableEntailment
from tests.server.serving import QUESTION, StuckModel, reply, served, toolbox, word_index

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@asynccontextmanager
async def session(url: str) -> AsyncIterator[ClientSession]:
    await asyncio.to_thread(wait_for, url)
    async with (
        streamable_http_client(f"{url}/mcp") as (read, write, _),
        ClientSession(read, write) as opened,
    ):
        await opened.initialize()
        yield opened


def wait_for(url: str) -> None:
    while httpx.post(f"{url}/mcp", json={}).status_code == 404:
        time.sleep(0.02)


class Raw:
    """A client that says what no library would say, and hangs up when it likes."""

    def __init__(self, url: str) -> None:
        wait_for(url)
        self.http, self.url = httpx.Client(headers=HEADERS, timeout=60), f"{url}/mcp"
        client = {"clientInfo": {"name": "x", "version": "1"}, "capabilities": {}}
        began = self.http.post(
            self.url, json=message("initialize", protocolVersion="2025-06-18", **client)
        )
        self.http.headers["mcp-session-id"] = began.headers["mcp-session-id"]
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.http.post(self.url, json=done)

    def call(self, tool: str, arguments: Any) -> str:
        told = message("tools/call", name=tool, arguments=arguments)
        return self.http.post(self.url, content=json.dumps(told)).text


def message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_the_protocol_is_served(tmp_path: Path) -> None:
    async def search(url: str) -> str:
        async with session(url) as opened:
            return str((await opened.call_tool("search", {"query": "Who?"})).content)

    with served(tmp_path, hosts=["127.0.0.1", "box.example"]) as url:
        assert "Ann Lee built the tower." in asyncio.run(search(url))
        for headers, refused in ((("host", "box.example"), False), (("origin", "https://x"), True)):
            reply = httpx.post(f"{url}/mcp", json={}, headers=dict([headers]))
            assert (reply.status_code in (403, 421)) is refused


async def test_questions_and_checks_wait_for_their_turn(tmp_path: Path) -> None:
    model = StuckModel(reply)
    body = {"question": QUESTION, "stream": False}
    with served(tmp_path, toolbox(model), at_once=1, waiting=0) as url:
        async with session(url) as opened, httpx.AsyncClient(base_url=url) as http:
            asked = asyncio.create_task(opened.call_tool("ask", {"question": QUESTION}))
            assert await asyncio.to_thread(model.stuck.wait, 60)
            assert (await http.post("/api/ask", json=body)).status_code == 429
            for tool, given in (("ask", {"question": QUESTION}), ("check", {"text": "It is."})):
                refused = await opened.call_tool(tool, given)
                assert refused.isError
                assert "Too many requests are waiting. Try again in 5" in str(refused.content)
            asked.cancel()


def test_a_run_ends_when_its_client_goes_away(tmp_path: Path) -> None:
    model = StuckModel(reply)
    with served(tmp_path, toolbox(model)) as url:
        raw = Raw(url)
        call = message("tools/call", name="ask", arguments={"question": QUESTION})
        with raw.http.stream("POST", raw.url, json=call):
            assert model.stuck.wait(60)
            assert not model.given_up.is_set()
        assert model.given_up.wait(60)


async def test_documents_are_named_by_links(tmp_path: Path) -> None:
    (tmp_path / "tower.md").write_text("# Tower\n\nAnn Lee built the tower.\n", "utf-8")
    index = word_index(tmp_path)
    index.update([tmp_path / "tower.md"])
    with served(tmp_path, toolbox(index=index)) as url:
        async with session(url) as opened:
            found = await opened.call_tool("search", {"query": "Who built the tower?"})
            assert found.structuredContent
            [passage] = found.structuredContent["passages"]
            link = passage["source"]
            assert link.startswith(f"{url}/api/documents/")
            assert httpx.get(link).text.startswith("# Tower")
            text = {"text": "Ann Lee built the tower."}
            asked = {"question": "Who built the tower?"}
            told = [found]
            told.append(await opened.call_tool("check", text))
            told.append(await opened.call_tool("ask", asked))
            told.append(await opened.call_tool("read", {"place": link}))
            told.append(await opened.call_tool("read", {"place": passage["id"]}))
    index.close()
    for result in told:
        assert not result.isError
        assert str(tmp_path) not in result.model_dump_json()
        assert "Ann Lee built the tower." in str(result.structuredContent)
    sources = [(result.structuredContent or {})["source"] for result in told[-2:]]
    assert sources == [link, link]


def test_errors_are_those_of_the_other_routes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Mock(side_effect=KeyError("sk-abcdef123456 in /home/ann"))
    with served(tmp_path, toolbox(entailment=TableEntailment(broken))) as url:
        raw = Raw(url)
        assert "The server failed. Its log says more." in raw.call("ask", {"question": QUESTION})
        assert "KeyError: '*** in /home/ann'" in caplog.text
        assert "The question is too long" in raw.call("ask", {"question": "x" * 4001})
        assert "The text is too long" in raw.call("check", {"text": "x" * 50_001})
        assert "less than or equal to 50" in raw.call("search", {"query": "x", "k": 51})
        assert "no document to check" in raw.call("check", {"text": "x", "documents": []})


def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    with served(tmp_path) as url:
        assert '"question":"Who �?"' in Raw(url).call("ask", {"question": "Who \ud83d?"})


async def test_no_request_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with served(tmp_path) as url:
        async with session(url) as opened:
            await opened.call_tool("ask", {"question": "secret"})
        raw = Raw(url)
        raw.call("ask", ["secret"])
        raw.call("secret", {})
    told = [record for record in caplog.records if record.name.partition(".")[0] != "httpx"]
    assert [record for record in told if record.levelno >= logging.WARNING] == []


def test_a_server_without_it_answers_and_closes_its_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failing = Mock(side_effect=ModuleNotFoundError("the installed mcp has another interface"))
    monkeypatch.setattr("citeproof.integrations.mcp_server.build_mcp_server", failing)
    tools = toolbox()
    closed = []
    monkeypatch.setattr(type(tools), "close", lambda own: closed.append(own))
    with caplog.at_level(logging.ERROR, "citeproof.server"), served(tmp_path, tools) as url:
        while "/mcp is not served" not in caplog.text:
            time.sleep(0.02)
        assert httpx.post(f"{url}/api/ask", json={"question": QUESTION}).status_code == 200
    assert closed == [tools]
