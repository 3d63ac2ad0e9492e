"""The tools of the Model Context Protocol at `/mcp`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI

if TYPE_CHECKING:
    from citeproof.tools.toolbox import Toolbox

__all__ = ["serving_mcp"]


@asynccontextmanager
async def serving_mcp(app: FastAPI, tools: Toolbox) -> AsyncIterator[None]:
    """Serve `/mcp` for the block, which belongs to the app's life span.

    Args:
        app: Gets the route.
        tools: What the tools of the protocol answer with.
    """
    from citeproof.integrations.mcp_server import build_mcp_server  # the page need not wait for it

    server = build_mcp_server(tools, check_hosts=False)  # the guard around the app does it
    app.router.routes.extend(server.streamable_http_app().routes)  # its path is /mcp
    async with server.session_manager.run():
        yield
