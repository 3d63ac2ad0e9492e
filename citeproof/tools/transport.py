"""Looks at the replies of a server at an address before a client parses them.

A client says "No generation chunks were returned" of anything that it cannot read: a login page,
half a reply, a proxy's error. It also reads a reply that never ends.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

LONGEST = 64_000_000
"""Bytes of one reply; 8,192 tokens with the probabilities of twenty others have 16 million."""


class BadReplyError(ValueError):
    """A server's reply is not that of a language model; `is_cut` if the rest was lost."""

    def __init__(self, why: str, *, is_cut: bool = False) -> None:
        super().__init__(why)
        self.is_cut = is_cut


def without_secrets(url: str) -> str:
    """An address without user name, password and query."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


async def look_over(response: Any) -> None:
    """A hook for `httpx.AsyncClient(event_hooks={"response": [look_over]})`.

    Raises:
        BadReplyError: The server has answered, but not as a language model does.
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
        raise BadReplyError(f"its JSON is no reply of a language model: {_begin(body)}")
    if not choices:
        raise BadReplyError("its reply holds no choices")
    if json.loads(response.request.content or b"{}").get("stream"):
        reason = choices[0].get("finish_reason") if isinstance(choices[0], dict) else ""
        if reason == "content_filter":
            raise BadReplyError("the provider's content filter withheld the reply")
        raise BadReplyError("it does not stream its replies, though it was asked to")


async def cap(response: Any) -> None:
    """A hook like `look_over`, for any server: the body may not be longer than `LONGEST`."""
    response.stream = _cap(response.stream)


def content_type(response: Any) -> str:
    """The content type of a response, without its parameters."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def read_json(kind: str, body: bytes) -> Any:
    """The JSON of a body.

    Args:
        kind: Its content type.
        body: Without space around it.

    Raises:
        BadReplyError: It is a page, empty, broken off, or something else.
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
    """A body that ends in an error once it is longer than any reply."""
    # openai has a client of httpx, or of its successor: each wants a stream of its own class.
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
    return repr(text if len(text) <= 120 else f"{text[:119]}…")
