"""Lets in the server's own page, programs on this machine, and clients with the token."""

from __future__ import annotations

import hmac
import re
import socket
from collections.abc import Sequence
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citeproof.console.warm import PATH
from citeproof.errors import SettingsError
from citeproof.guard import LOOPBACK, LocalOnlyGuard

COOKIE = "citeproof_token"
MOST_JSON = 1_000_000
"""Most bytes of a request."""
MOST_UPLOAD = 100_000_000
"""Most bytes of all files in one request."""
_UPLOAD, _FORM = ("POST", "/api/documents"), "multipart/form-data"
_OPEN = ("/healthz", "/readyz")
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def refuse_open_host(host: str, token: str | None) -> None:
    """Refuse to serve other machines without a token."""
    if host not in LOOPBACK and not token:
        raise SettingsError(
            f"Other machines can reach the server at {host}, but it has no token",
            fix="Add --token, at least 16 characters, or leave --host out.",
        )
    if token is not None and len(token) < 16:
        raise SettingsError("The token is too short", fix="Use at least 16 characters.")
    if token is not None and not re.fullmatch("[!-~]*", token):
        raise SettingsError(
            "The token has characters that headers and cookies do not carry",
            fix="Use letters, digits and punctuation of ASCII, without spaces.",
        )


def host_names(host: str, more: Sequence[str] = ()) -> list[str]:
    """Return the host names of a server at this address."""
    names = [*LOOPBACK, host, *more]
    if host in ("0.0.0.0", "::"):
        names.append(name := socket.gethostname())
        with suppress(OSError):
            names += [str(found[4][0]) for found in socket.getaddrinfo(name, None)]
    return list(dict.fromkeys(names))


def protect(
    app: ASGIApp, hosts: Sequence[str], token: str | None, own: str | None = None
) -> ASGIApp:
    """Wrap the app in its guard, token check and security headers.

    Args:
        app: The application to protect.
        hosts: Host names of the server.
        token: If set, required for everything except the two health checks.
        own: Required instead of `token` for requests of the command line; by default these are
            refused.
    """

    def check_token(request: Request) -> Response | None:
        return _refuse_stranger(request, token, own)

    json_only = LocalOnlyGuard(app, allowed_hosts=hosts, max_bytes=MOST_JSON, check=check_token)
    with_files = LocalOnlyGuard(
        app, allowed_hosts=hosts, max_bytes=MOST_UPLOAD, body_type=_FORM, check=check_token
    )

    async def guard_request(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await json_only(scope, receive, send)
            return
        send = _with_headers(send)
        if not _is_upload(scope):
            await json_only(scope, receive, send)
        # Any web page may send a form unasked, but not with a custom header.
        elif Headers(scope=scope).get("x-citeproof"):
            await with_files(scope, receive, send)
        else:
            refused = _refusal(403, "To add documents, send the header X-Citeproof: upload.")
            await refused(scope, receive, send)

    return guard_request


def _refuse_stranger(request: Request, token: str | None, own: str | None) -> Response | None:
    """Return the refusal of a request without the token that it needs; None if it may pass."""
    path = request.scope["path"]
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    shown = bearer if scheme.lower() == "bearer" else ""
    if path.startswith(PATH):
        if _is_same(shown, own):
            return None
        return _refusal(401, "These requests are for the command line of the same user.")
    cookie = request.cookies.get(COOKIE, "")
    if token is None or path in _OPEN or _is_same(shown, token) or _is_same(cookie, token):
        return None
    # A token of base64 has +, which stands for a space in an address.
    given = request.query_params.get("token", "").replace(" ", "+")
    if path == "/" and _is_same(given, token):
        entered = RedirectResponse("/", 303)
        entered.set_cookie(COOKIE, given, httponly=True, samesite="strict")
        return entered
    return _refusal(401, "A token is needed: open /?token=… or send it as a bearer token.")


def _is_same(given: str, token: str | None) -> bool:
    return token is not None and hmac.compare_digest(given.encode(), token.encode())


def _is_upload(scope: Scope) -> bool:
    kinds = Headers(scope=scope).getlist("content-type")
    is_form = len(kinds) == 1 and kinds[0].lower().startswith(_FORM)
    return is_form and (scope["method"], scope["path"]) == _UPLOAD


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message.setdefault("headers", [])
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers


def _refusal(status: int, why: str) -> Response:
    error = {"message": why, "type": "permission_error"}
    return JSONResponse({"error": error}, status, {"connection": "close"})
