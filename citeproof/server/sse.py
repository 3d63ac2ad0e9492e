"""Event streams, which are cancelled as soon as the client is gone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from citeproof.server.errors import describe

_QUIET = 15.0
"""Seconds of silence after which a keep-alive line is sent; proxies cut silent streams."""
_BREAKS = str.maketrans({own: f"\\u{ord(own):04x}" for own in "\x85\u2028\u2029"})
"""Escapes what JSON allows in a text but httpx and others take for the end of a line."""


def frame(data: Any, name: str = "") -> str:
    """Format an event; `data` is a value to send as JSON, or JSON as text.

    Without a name, the event has only its data.
    """
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text.translate(_BREAKS)}\n\n"


class EventStream(StreamingResponse):
    """A response of frames, whose source is cancelled when the client goes away.

    Args:
        frames: Text from `frame`. An error ends the stream with the event `error`.
        end: Called when the stream is over, even if it never began.
    """

    def __init__(
        self, frames: AsyncIterator[str], end: Callable[[], object] = lambda: None
    ) -> None:
        self._frames, self._end = frames, end
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(self._pace(), media_type="text/event-stream", headers=headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the frames; nothing keeps running in the background, however the stream ends."""
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        pumping = asyncio.create_task(self._pump())
        try:
            await super().__call__(scope, receive, send)
        finally:
            pumping.cancel()
            with suppress(asyncio.CancelledError):
                await pumping
            self._end()

    async def _pump(self) -> None:
        try:
            async for text in self._frames:
                self._queue.put_nowait(text)
        except Exception as error:
            self._queue.put_nowait(frame(describe(error)[1], "error"))
        finally:
            self._queue.put_nowait(None)

    async def _pace(self) -> AsyncIterator[str]:
        while True:
            try:
                text = await asyncio.wait_for(self._queue.get(), _QUIET)
            except TimeoutError:
                text = ": still here\n\n"
            if text is None:
                return
            yield text
