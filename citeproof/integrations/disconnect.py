"""Ends work whose HTTP client has gone away."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

T = TypeVar("T")


async def until_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work, which is cancelled if the client goes away.

    Raises:
        HTTPException: The client went away.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_leave(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise HTTPException(499, "The client went away.")
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task


async def _leave(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
