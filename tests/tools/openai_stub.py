"""A loopback server that speaks OpenAI's protocol from a script."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.loopback import running
from tests.tools.model_stub import send

__all__ = ["Reply", "Stub", "serve"]


@dataclass
class Reply:
    """What the server sends for one request."""

    text: str = "ok"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    body: str | None = None
    """Sent unchanged instead of a completion."""
    delay: float = 0.0
    usage: Mapping[str, Any] | None = None
    top: Mapping[str, float] | None = None
    """Log-probabilities of the likeliest first tokens."""
    finish: str = "stop"
    cut_after: int | None = None
    """Number of pieces after which a stream breaks off."""


@dataclass
class Stub:
    """The running server and what it was sent."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)


@contextmanager
def serve(script: Sequence[Reply] | Callable[[dict[str, Any]], Reply]) -> Iterator[Stub]:
    """Run the server; the last reply of a list is repeated."""
    stub = Stub("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            stub.requests.append(body)
            stub.keys.append(self.headers.get("authorization", ""))
            stub.times.append(time.monotonic())
            number = len(stub.requests) - 1
            reply = script(body) if callable(script) else script[min(number, len(script) - 1)]
            time.sleep(reply.delay)
            try:
                if body.get("stream") and reply.status == 200 and reply.body is None:
                    self._stream(reply)
                else:
                    self._send(reply)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _send(self, reply: Reply) -> None:
            message = _completion(reply)
            if reply.status != 200:
                message = {"error": {"message": reply.error or "no", "type": "x", "code": None}}
            text = json.dumps(message) if reply.body is None else reply.body
            send(self, reply.status, reply.headers, text)

        def _stream(self, reply: Reply) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            pieces = [word + " " for word in reply.text.split(" ")]
            pieces[-1] = pieces[-1][:-1]
            for number, piece in enumerate(pieces):
                if number == reply.cut_after:
                    self.close_connection = True
                    return
                self._event({"choices": [{"index": 0, "delta": {"content": piece}}]})
            end = {"index": 0, "delta": {}, "finish_reason": reply.finish}
            self._event({"choices": [end]})
            self._event({"choices": [], "usage": _usage(reply)})
            self._chunk(b"data: [DONE]\n\n")
            self._chunk(b"")

        def _event(self, event: dict[str, Any]) -> None:
            whole = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
            self._chunk(b"data: " + json.dumps({**whole, **event}).encode() + b"\n\n")

        def _chunk(self, data: bytes) -> None:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

    with running(Handler) as url:
        stub.url = f"{url}/v1"
        yield stub


def _usage(reply: Reply) -> Mapping[str, Any]:
    return reply.usage or {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}


def _completion(reply: Reply) -> dict[str, Any]:
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": reply.text},
        "finish_reason": reply.finish,
    }
    if reply.top is not None:
        top = [{"token": t, "logprob": p, "bytes": None} for t, p in reply.top.items()]
        choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    return {**whole, "choices": [choice], "usage": _usage(reply)}
