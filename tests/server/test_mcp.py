"""`/mcp`: what `build_mcp_server` gives is served, once the models are there."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.server.fastmcp import FastMCP

from citeproof import Toolbox
from tests.server.serving import served


def _build(tools: Toolbox, *, check_hosts: bool) -> FastMCP:
    assert not check_hosts, "the server's own guard does it"
    server = FastMCP("scripted", log_level="WARNING")

    @server.tool()
    def which() -> str:
        return tools.entailment.name

    return server


def test_the_protocol_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("citeproof.integrations.mcp_server")
    module.build_mcp_server = _build
    monkeypatch.setitem(sys.modules, "citeproof.integrations", ModuleType("integrations"))
    monkeypatch.setitem(sys.modules, "citeproof.integrations.mcp_server", module)

    async def ask(url: str) -> str:
        async with (
            streamable_http_client(f"{url}/mcp") as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            result = await session.call_tool("which", {})
            return str(result.content)

    with served(tmp_path) as url:
        while httpx.get(f"{url}/readyz").status_code != 200:
            pass
        assert "table" in asyncio.run(ask(url))
        foreign = {"origin": "https://evil.example"}
        assert httpx.post(f"{url}/mcp", json={}, headers=foreign).status_code == 403
