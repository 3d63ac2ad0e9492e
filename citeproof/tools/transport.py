"""Checks the replies of a server before a client parses them.

A client reports "No generation chunks were returned" for anything it cannot read: a login page,
half a reply, a proxy's error. It also keeps reading a reply that never ends.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

from citeproof.text import shorten

LONGEST = 64_000_000
"""Most bytes of a reply. 8,192 tokens, each with 20 alternatives, take 16 million."""


class BadReplyError(ValueError):
    """A server's reply is not that of a language model; `is_cut` says that its end is missing."""

    def __init__(self, why: str, *, is_cut: bool = False) -> None:
        super().__init__(why)
        self.is_cut = is_cut


def without_secrets(url: str) -> str:
    """Return an address without user name, password and query."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


async def look_over(response: Any) -> None:
    """Check a response, as a hook: `httpx.AsyncClient(event_hooks={"response": [look_over]})`.

    Raises:
        BadReplyError: The reply is not that of a language model.
    """
    await cap(response)
    kind = content_type(response)
    if response.status_code != 200 or kind == "text/event-stream":
        return
    body = (await response.aread()).strip()
    if body.startswith((b"data:", b"event:", b":")):
        return  # a stream by another name
    reply = read_json(kind, body)
    if isinstance(reply, dict) and reply.get("error"):
        raise BadReplyError(f"it reports an error: {_begin(json.dumps(reply['error']).encode())}")
    choices = reply.get("choices") if isinstance(reply, dict) else None
    if not isinstance(choices, list):
        raise BadReplyError(f"its JSON is not a reply of a language model: {_begin(body)}")
    if not choices:
        raise BadReplyError("its reply holds no choices")
    if json.loads(response.request.content or b"{}").get("stream"):
        reason = choices[0].get("finish_reason") if isinstance(choices[0], dict) else ""
        if reason == "content_filter":
            raise BadReplyError("the provider's content filter withheld the reply")
        raise BadReplyError("it does not stream its replies, though it was asked to")


async def cap(response: Any) -> None:
    """Limit the body of a response to `LONGEST` bytes, as a hook for any kind of server."""
    response.stream = _cap(response.stream)


def content_type(response: Any) -> str:
    """Return the content type of a response, without its parameters."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def read_json(kind: str, body: bytes) -> Any:
    """Parse the JSON of a body, which has no space around it, by its content type.

    Raises:
        BadReplyError: The body is an HTML page, is empty, breaks off, or is not JSON.
    """
    if kind == "text/html" or body[:200].lower().startswith((b"<!doctype", b"<html")):
        raise BadReplyError("it sent an HTML page, as a login or a proxy does")
    if not body:
        raise BadReplyError("it sent nothing", is_cut=True)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        if body.startswith((b"{", b"[")):
            why = "its reply breaks off: it is not whole JSON"
            raise BadReplyError(why, is_cut=True) from None
        raise BadReplyError(f"it sent no JSON: {_begin(body)}") from None


def _cap(stream: Any) -> Any:
    """Wrap a body so that it raises once it is longer than any reply."""
    # openai's client is httpx's or its successor's, and each needs its own class of stream.
    kind: Any = next(k for k in type(stream).__mro__ if k.__name__ == "AsyncByteStream")

    class Capped(kind):  # type: ignore[misc]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for part in stream:
                size += len(part)
                if size > LONGEST:
                    raise BadReplyError(f"its reply has more than {LONGEST:,} bytes")
                yield part

        async def aclose(self) -> None:
            await stream.aclose()

    return Capped()


def _begin(body: bytes) -> str:
    text = " ".join(body[:400].decode("utf-8", "replace").split())
    return repr(shorten(text, 120))
