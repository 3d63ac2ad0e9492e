"""Restricts a server on this machine to this machine's own programs and pages.

The loopback address keeps out other machines, but not this machine's browser: any web site can send
requests to it, and read the replies if it resolves its own name to 127.0.0.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Starlette is only installed with a server
    from starlette.datastructures import Headers
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["LOOPBACK", "LocalOnlyGuard"]

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The names by which this machine refers to itself."""
MAX_BYTES = 5_000_000


class LocalOnlyGuard:
    """ASGI middleware that rejects requests that a foreign web page can make a browser send.

    It replies with 403 to a foreign `Host` (DNS rebinding) or `Origin`, with 415 to a body that is
    not JSON, which a page can send without a preflight request, and with 413 to a body that is too
    large. It rejects web sockets by host and origin. A request without an `Origin` comes from a
    program or from the server's own page.

    Args:
        app: The guarded application. The guard reads the whole body before calling it.
        allowed_hosts: Names of the server, without port.
        allowed_origins: Foreign pages that may use the server, such as `https://example.org`. The
            server's own pages always may.
        max_bytes: Maximum length of a body.
        body_type: Required content type of a body. Any page can send a form without a preflight
            request, so allow `multipart/form-data` only if you also require a custom header.
        check: Returns the reply to a request that it does not let in, by its headers and address,
            before the body is read; None lets it in.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        allowed_hosts: Sequence[str] = LOOPBACK,
        allowed_origins: Sequence[str] = (),
        max_bytes: int = MAX_BYTES,
        body_type: str = "application/json",
        check: Callable[[Request], Response | None] | None = None,
    ) -> None:
        self.app = app
        self._hosts = {host.lower().strip("[]") for host in allowed_hosts}
        self._origins = {origin.lower().rstrip("/") for origin in allowed_origins}
        self._max_bytes = max_bytes
        self._body_type = body_type
        self._check = check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or reject it."""
        from starlette.datastructures import Headers
        from starlette.requests import ClientDisconnect, Request
        from starlette.responses import JSONResponse

        async def refuse(status: int, why: str) -> None:
            # The rest of the request stays unread, so the connection is closed.
            # Clients of LangGraph's server read `detail`, those of OpenAI `error`.
            told = {"detail": why, "error": {"message": why, "type": "permission_error"}}
            reply = JSONResponse(told, status, {"connection": "close"})
            await reply(scope, receive, send)

        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refuse_sender(headers)
        if refused and scope["type"] == "websocket":
            await receive()  # the request to connect
            await send({"type": "websocket.close", "code": 1008, "reason": refused})
            return
        if refused:
            await refuse(403, refused)
            return
        if scope["type"] == "websocket":
            await self.app(scope, receive, send)
            return
        if self._check is not None and (reply := self._check(Request(scope))) is not None:
            await reply(scope, receive, send)
            return
        too_large = f"A body may have at most {self._max_bytes:,} bytes."
        told = filter(str.isdecimal, headers.getlist("content-length"))
        if max(map(int, told), default=0) > self._max_bytes:
            await refuse(413, too_large)
            return
        body = bytearray()
        try:
            async for piece in Request(scope, receive).stream():
                body += piece
                if body and not _is_of_type(headers, self._body_type):
                    await refuse(415, f"A body must have Content-Type: {self._body_type}.")
                    return
                if len(body) > self._max_bytes:
                    await refuse(413, too_large)
                    return
        except ClientDisconnect:
            return
        await self.app(scope, _replay(bytes(body), receive), send)

    def _refuse_sender(self, headers: Headers) -> str:
        """Why the request does not come from this machine; empty if it does."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or _name(hosts[0]) not in self._hosts:
            return f"This server does not answer to the host {', '.join(hosts) or '(none)'}."
        if not origins:
            # A picture or script of another page has no origin, but fetch metadata reveal the page.
            site, place = headers.getlist("sec-fetch-site"), headers.getlist("sec-fetch-dest")
            foreign = site not in ([], ["same-origin"], ["none"]) and place != ["document"]
            return "Requests from another page are rejected." if foreign else ""
        origin = origins[0].lower()
        own = (f"http://{hosts[0].lower()}", f"https://{hosts[0].lower()}")
        if len(origins) == 1 and (origin in self._origins or origin in own):
            return ""
        return f"Pages of {', '.join(origins)} may not use this server."


def _name(host: str) -> str:
    """A host's name without its port: `[::1]:2024` is `::1`."""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        port = port.removeprefix(":")
        return name.lower() if bracket and (not port or port.isdecimal()) else ""
    name, _, port = host.partition(":")
    return name.lower() if not port or port.isdecimal() else ""


def _is_of_type(headers: Headers, wanted: str) -> bool:
    kinds = headers.getlist("content-type")
    kind = kinds[0].partition(";")[0].strip().lower() if len(kinds) == 1 else ""
    main, _, sub = kind.partition("/")
    is_json = main == "application" and sub.endswith("+json")
    return kind == wanted or (is_json and wanted == "application/json")


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns a body already read, then the messages after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
