"""The tools of the Model Context Protocol at `/mcp`, where its package is installed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    build = _builder()
    if build is None:
        yield
        return
    server = build(tools, check_hosts=False)  # the guard around the app does it
    app.router.routes.extend(server.streamable_http_app().routes)  # its path is /mcp
    async with server.session_manager.run():
        yield


def _builder() -> Callable[..., Any] | None:
    try:
        module = import_module("citeproof.integrations.mcp_server")
    except ImportError:  # the package `mcp` is not installed
        return None
    build: Callable[..., Any] = module.build_mcp_server
    return build
