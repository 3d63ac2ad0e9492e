"""Work for one request, which ends when its client goes away."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from fastapi import Request
from starlette.exceptions import HTTPException

T = TypeVar("T")


async def until_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of the work; it is cancelled if nobody waits for it any more.

    Raises:
        HTTPException: The client went away; nobody reads it.
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
