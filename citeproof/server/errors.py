"""Errors as responses, in OpenAI's shape and without keys."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from citeproof.errors import (
    CiteproofError,
    InputError,
    ModelError,
    PromptError,
    RetrievalError,
    SettingsError,
    StoreError,
)
from citeproof.integrations.turns import BusyError
from citeproof.tools.llm.retries import scrub

_log = logging.getLogger("citeproof.server")


class NotFoundError(InputError):
    """A request names something that does not exist."""


class ConflictError(InputError):
    """A request would disturb another one that is being answered."""


_STATUS = (
    (BusyError, 429, "rate_limit_error"),
    (ConflictError, 409, "conflict_error"),
    (NotFoundError, 404, "not_found_error"),
    ((InputError, SettingsError, PromptError), 400, "invalid_request_error"),
    ((ModelError, RetrievalError, StoreError), 503, "service_unavailable_error"),
)


def describe(error: BaseException) -> tuple[int, dict[str, Any]]:
    """Return the status and body of an error; an unexpected error gives no details.

    The body of an expected error also has its parts, so that the client can raise it again.
    """
    if not isinstance(error, CiteproofError):
        _log.error("%s", scrub(f"{type(error).__name__}: {error}"))
        return 500, _body("The server failed. Its log says more.", "server_error")
    found = (own[1:] for own in _STATUS if isinstance(error, own[0]))
    status, kind = next(found, (500, "server_error"))
    parts = {name: scrub(getattr(error, name)) for name in ("what", "why", "fix")}
    return status, {**_body(str(error), kind), "kind": type(error).__name__, **parts}


def add_errors(app: FastAPI) -> None:
    """Make the app answer every error in this shape."""

    async def ours(_: Request, error: Exception) -> Response:
        status, body = describe(error)
        wait = {"retry-after": str(BusyError.retry_after)} if status == 429 else {}
        return JSONResponse(body, status, wait)

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part != "body")
        if first["type"] == "json_invalid":
            place = ""  # the position of a character
        message = f"{place or 'The body'} cannot be used: {first['msg']}."
        return JSONResponse(_body(message, "invalid_request_error", place or None), 400)

    async def http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        kind = "not_found_error" if error.status_code == 404 else "invalid_request_error"
        return JSONResponse(_body(str(error.detail), kind), error.status_code, error.headers)

    app.add_exception_handler(CiteproofError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, ours)


def _body(message: str, kind: str, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": scrub(message), "type": kind, "param": param, "code": None}}
