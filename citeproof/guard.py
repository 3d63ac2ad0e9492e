"""Keeps a server on this machine to this machine's own programs and pages.

The loopback address keeps out other machines, but not this machine's browser: any web site may send
requests to it, and, with its own name resolved to 127.0.0.1, read the replies.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, TypeAlias

__all__ = ["LOOPBACK", "LocalOnlyGuard"]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The names of this machine for itself."""
MAX_BYTES = 5_000_000


class LocalOnlyGuard:
    """ASGI middleware that refuses what a foreign web page can make a browser send.

    403 for a foreign `Host` (DNS rebinding) or `Origin`, 415 for a body that is not JSON, which a
    page may send without asking first, 413 for one that is too large. Web sockets are refused by
    host and origin. A request without an `Origin` is a program's, or a page's own.

    Args:
        app: The guarded application. A body is read whole before the application is called.
        allowed_hosts: Names under which the server is reached, without port.
        allowed_origins: Pages from elsewhere that may use it, such as `https://example.org`; those
            that the server gives itself may anyway.
        max_bytes: Longest body.
        body_type: The content type that a body must have. Any page may send a form without asking:
            allow `multipart/form-data` only together with a header of your own.
    """

    def __init__(
        self,
        app: App,
        *,
        allowed_hosts: Sequence[str] = LOOPBACK,
        allowed_origins: Sequence[str] = (),
        max_bytes: int = MAX_BYTES,
        body_type: str = "application/json",
    ) -> None:
        self.app = app
        self._hosts = {host.lower().strip("[]") for host in allowed_hosts}
        self._origins = {origin.lower().rstrip("/") for origin in allowed_origins}
        self._max_bytes = max_bytes
        self._body_type = body_type

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        refused = self._refuse_sender(scope)
        if scope["type"] == "websocket":
            if refused:
                await receive()  # the request to connect
                await send({"type": "websocket.close", "code": 1008, "reason": refused})
                return
            await self.app(scope, receive, send)
            return
        if refused:
            await _answer(send, 403, refused)
            return
        if _number(_headers(scope, "content-length")) > self._max_bytes:
            await _answer(send, 413, self._too_large())
            return
        body, left = bytearray(), True
        while left:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            left = message.get("more_body", False)
            if body and not _is_of_type(scope, self._body_type):
                await _answer(send, 415, f"A body must have Content-Type: {self._body_type}.")
                return
            if len(body) > self._max_bytes:
                await _answer(send, 413, self._too_large())
                return
        await self.app(scope, _replay(bytes(body), receive), send)

    def _refuse_sender(self, scope: Scope) -> str:
        """Why the request is not one of this machine's own; empty if it is."""
        hosts, origins = _headers(scope, "host"), _headers(scope, "origin")
        if len(hosts) != 1 or _name(hosts[0]) not in self._hosts:
            return f"This server is not {', '.join(hosts) or 'without a name'}."
        if not origins:
            # A picture or a script of another page has no origin, but says that it is of one.
            site, place = _headers(scope, "sec-fetch-site"), _headers(scope, "sec-fetch-dest")
            foreign = site not in ([], ["same-origin"], ["none"]) and place != ["document"]
            return "Another page's requests are refused." if foreign else ""
        origin = origins[0].lower()
        own = (f"http://{hosts[0].lower()}", f"https://{hosts[0].lower()}")
        if len(origins) == 1 and (origin in self._origins or origin in own):
            return ""
        return f"Pages of {', '.join(origins)} may not use this server."

    def _too_large(self) -> str:
        return f"A body may have {self._max_bytes:,} bytes."


def _headers(scope: Scope, name: str) -> list[str]:
    wanted = name.encode()
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == wanted]


def _name(host: str) -> str:
    """A host's name without its port: `[::1]:2024` is `::1`."""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        port = port.removeprefix(":")
        return name.lower() if bracket and (not port or port.isdecimal()) else ""
    name, _, port = host.partition(":")
    return name.lower() if not port or port.isdecimal() else ""


def _number(values: Sequence[str]) -> int:
    return max((int(value) for value in values if value.isdecimal()), default=0)


def _is_of_type(scope: Scope, wanted: str) -> bool:
    kinds = _headers(scope, "content-type")
    kind = kinds[0].partition(";")[0].strip().lower() if len(kinds) == 1 else ""
    main, _, sub = kind.partition("/")
    is_json = main == "application" and sub.endswith("+json")
    return kind == wanted or (is_json and wanted == "application/json")


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body that is read already, then the messages after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _answer(send: Send, status: int, why: str) -> None:
    body = json.dumps({"detail": why}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),  # what is left of the request is not read
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
