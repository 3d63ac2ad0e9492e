"""`/mcp`: the Model Context Protocol, served once the models are there."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.server.serving import served


def test_the_protocol_is_served(tmp_path: Path) -> None:
    async def search(url: str) -> str:
        async with (
            streamable_http_client(f"{url}/mcp") as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            return str((await session.call_tool("search", {"query": "Who?"})).content)

    with served(tmp_path, hosts=["127.0.0.1", "box.example"]) as url:
        while httpx.post(f"{url}/mcp", json={}).status_code == 404:
            time.sleep(0.02)
        assert "Ann Lee built the tower." in asyncio.run(search(url))
        for headers, refused in ((("host", "box.example"), False), (("origin", "https://x"), True)):
            reply = httpx.post(f"{url}/mcp", json={}, headers=dict([headers]))
            assert (reply.status_code in (403, 421)) is refused
