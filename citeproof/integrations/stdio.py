"""Serves a client over stdio, where nothing but the protocol may be written to stdout."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

__all__ = ["protocol_stdout", "serve_stdio"]


@contextmanager
def protocol_stdout() -> Iterator[TextIO]:
    """The process's stdout; inside the block all that prints, C code included, goes to stderr."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n") as protocol:
        os.dup2(2, 1)
        try:
            yield protocol
        finally:
            sys.stdout.flush()
            os.dup2(protocol.fileno(), 1)


def serve_stdio(server: Any, protocol: TextIO) -> None:
    """Serve the client at stdin until it closes it."""
    import anyio
    from mcp.server.stdio import stdio_server

    async def serve() -> None:
        own = server._mcp_server  # `run_stdio_async` would write to what others print to
        async with stdio_server(stdout=anyio.wrap_file(protocol)) as streams:
            await own.run(*streams, own.create_initialization_options())

    asyncio.run(serve())
