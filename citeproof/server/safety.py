"""Lets in the server's own page, programs on this machine, and clients with the token."""

from __future__ import annotations

import hmac
import json
import socket
from collections.abc import Collection, Sequence
from http.cookies import SimpleCookie
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citeproof.console.warm import PATH
from citeproof.errors import SettingsError
from citeproof.guard import LOOPBACK, LocalOnlyGuard

__all__ = ["COOKIE", "host_names", "protect", "refuse_open_host"]

COOKIE = "citeproof_token"
MOST_JSON = 1_000_000
"""Bytes of a request."""
MOST_UPLOAD = 100_000_000
"""Bytes of all files that are sent at once."""
_UPLOAD, _FORM = ("POST", "/api/documents"), "multipart/form-data"
_OPEN = ("/healthz", "/readyz")
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    b"content-security-policy": _POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
}


def refuse_open_host(host: str, token: str | None) -> None:
    """Refuse to be reached from other machines without a token.

    Raises:
        SettingsError: There is none, or it is short.
    """
    if host not in LOOPBACK and not token:
        raise SettingsError(
            f"At {host} other machines can reach the server, and it has no token",
            fix="Add --token, at least 16 characters, or leave --host out.",
        )
    if token is not None and len(token) < 16:
        raise SettingsError("The token is too short", fix="Use at least 16 characters.")


def host_names(host: str, more: Sequence[str] = ()) -> list[str]:
    """The names under which a server at this address is reached."""
    names = [*LOOPBACK, host, *more]
    if host in ("0.0.0.0", "::"):
        name = socket.gethostname()
        names += [name, *_addresses(name)]
    return list(dict.fromkeys(names))


def protect(
    app: ASGIApp, hosts: Sequence[str], token: str | None, own: str | None = None
) -> ASGIApp:
    """The app behind its guard, its token and its headers.

    Args:
        app: What is protected.
        hosts: Names under which it is reached.
        token: Needed for everything but the two health checks, if there is one.
        own: Needed for the requests of the command line, in place of `token`; by default they
            are refused.
    """
    inner: ASGIApp = app if token is None else _Token(app, token)
    inner = _Own(app, inner, own)
    json_only = LocalOnlyGuard(inner, allowed_hosts=hosts, max_bytes=MOST_JSON)
    with_files = LocalOnlyGuard(inner, allowed_hosts=hosts, max_bytes=MOST_UPLOAD, body_type=_FORM)

    async def guard_request(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await json_only(scope, receive, send)
            return
        send = _with_headers(send)
        if not _is_upload(scope):
            await json_only(scope, receive, send)
            return
        # A form may be sent by any page without asking; a header of its own may not.
        if not _values(scope, b"x-citeproof"):
            await _refuse(send, 403, "To add documents, send the header X-Citeproof: upload.")
            return
        await with_files(scope, receive, send)

    return guard_request


class _Token:
    """Lets nobody in without the token, be it a bearer's, or the page's cookie."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _OPEN or self._fits(_shown_tokens(scope)):
            await self._app(scope, receive, send)
            return
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        if scope["path"] == "/" and self._fits(given):
            cookie = f"{COOKIE}={given[0]}; HttpOnly; SameSite=Strict; Path=/"
            headers = [(b"location", b"/"), (b"set-cookie", cookie.encode())]
            await send({"type": "http.response.start", "status": 303, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        await _refuse(send, 401, "A token is needed: open /?token=… or send it as a bearer's.")

    def _fits(self, given: Collection[str]) -> bool:
        return _is_among(given, self._token)


class _Own:
    """Lets to the paths of the command line only who has read the server's note, and no others."""

    def __init__(self, app: ASGIApp, others: ASGIApp, token: str | None) -> None:
        self._app = app
        self._others = others
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PATH):
            await self._others(scope, receive, send)
        elif self._token is not None and _is_among(_bearers(scope), self._token.encode()):
            await self._app(scope, receive, send)
        else:
            await _refuse(send, 401, "These requests are for the command line of the same user.")


def _is_among(given: Collection[str], token: bytes) -> bool:
    return any(hmac.compare_digest(own.encode(), token) for own in given)


def _bearers(scope: Scope) -> list[str]:
    return [v[7:] for v in _values(scope, b"authorization") if v[:7].lower() == "bearer "]


def _shown_tokens(scope: Scope) -> list[str]:
    """The tokens that a request shows."""
    cookies = [SimpleCookie(value).get(COOKIE) for value in _values(scope, b"cookie")]
    return [*_bearers(scope), *(cookie.value for cookie in cookies if cookie is not None)]


def _is_upload(scope: Scope) -> bool:
    kinds = _values(scope, b"content-type")
    is_form = len(kinds) == 1 and kinds[0].lower().startswith(_FORM)
    return is_form and (scope["method"], scope["path"]) == _UPLOAD


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = list(message.get("headers", ()))
            there = {key.lower() for key, _ in own}
            own += [(key, value) for key, value in _HEADERS.items() if key not in there]
            message = {**message, "headers": own}
        await send(message)

    return send_with_headers


async def _refuse(send: Send, status: int, why: str) -> None:
    body = json.dumps({"error": {"message": why, "type": "permission_error"}}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _addresses(name: str) -> list[str]:
    try:
        return [str(found[4][0]) for found in socket.getaddrinfo(name, None)]
    except OSError:
        return []
