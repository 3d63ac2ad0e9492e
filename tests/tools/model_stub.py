"""A loopback server of models, with replies from a test."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from citeproof.models.merged import ANSWERABILITY, ENTAILMENT
from citeproof.tools.entailment.answerability import name_answerability
from citeproof.tools.entailment.close_reader import name_close_reader
from tests.loopback import running

__all__ = ["Reply", "Stub", "own_models", "send", "serve", "tei"]


@dataclass
class Reply:
    """What the server sends for one request."""

    body: Any = None
    """Sent as JSON; a string is sent unchanged."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


@dataclass
class Stub:
    """The running server and what it was sent."""

    url: str = ""
    requests: list[tuple[str, Any]] = field(default_factory=list)
    """Path and body of each request, in order."""
    keys: list[str] = field(default_factory=list)
    under_way: int = 0
    most_under_way: int = 0

    def bodies(self, path: str) -> list[Any]:
        """The bodies sent to a path."""
        return [body for own, body in self.requests if own == path]


@contextmanager
def serve(answer: Callable[[str, Any], Reply]) -> Iterator[Stub]:
    """Run the server; `answer` gets the path, and the body or None for a GET."""
    stub, lock = Stub(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(None)

        def do_POST(self) -> None:
            self._send(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def _send(self, body: Any) -> None:
            with lock:
                stub.requests.append((self.path, body))
                stub.keys.append(self.headers.get("authorization", ""))
                stub.under_way += 1
                stub.most_under_way = max(stub.most_under_way, stub.under_way)
            reply = answer(self.path, body)
            time.sleep(reply.delay)
            text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
            with lock:
                stub.under_way -= 1
            try:
                send(self, reply.status, reply.headers, text)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

    with running(Handler) as stub.url:
        yield stub


def send(
    handler: BaseHTTPRequestHandler, status: int, headers: Mapping[str, str], text: str
) -> None:
    """Send a whole reply, as JSON unless the headers say otherwise."""
    data = text.encode()
    handler.send_response(status)
    kind = {"content-type": "application/json", "content-length": str(len(data))}
    for name, value in {**kind, **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


def tei(
    model: str,
    read: Callable[[list[str]], Mapping[str, float]],
    *,
    labels: tuple[str, ...] = ("entailment", "neutral", "contradiction"),
    limit: int = 512,
    batch: int = 32,
    kind: str = "classifier",
    more: Mapping[str, Any] | None = None,
) -> Callable[[str, Any], Reply]:
    """Answers as text-embeddings-inference does.

    Args:
        model: The name of the model.
        read: Label → probability of one text, or of two that are a pair.
        labels: The labels of its outputs.
        limit: Most tokens of a text.
        batch: Most texts of a request.
        kind: Classifier, reranker or embedding.
        more: Further fields of `/info`.
    """
    info = {
        "model_id": model,
        "model_type": {kind: {"id2label": {str(n): label for n, label in enumerate(labels)}}},
        "max_input_length": limit,
        "max_client_batch_size": batch,
        **(more or {}),
    }

    def answer(path: str, body: Any) -> Reply:
        if path == "/info":
            return Reply(info)
        if path != "/predict":
            return Reply({"error": "no such route"}, 404)
        if len(body["inputs"]) > batch:
            return Reply({"error": "batch size", "error_type": "validation"}, 413)
        found = [sorted(read(texts).items(), key=lambda one: -one[1]) for texts in body["inputs"]]
        return Reply([[{"label": k, "score": v} for k, v in own] for own in found])

    return answer


def own_models(
    read: Callable[[list[str]], Mapping[str, float]], **more: Any
) -> Callable[[str, Any], Reply]:
    """Answers as `citeproof serve` does with citeproof's own models; both score alike."""
    labels, more = ("entailment", "contradiction"), {"citeproof": "0", **more}
    names = name_close_reader(ENTAILMENT.name), name_answerability(ANSWERABILITY.name)
    entailment, answerability = (tei(name, read, labels=labels, more=more) for name in names)

    def answer(path: str, body: Any) -> Reply:
        asked = path.removeprefix("/answerability")
        return (entailment if asked == path else answerability)(asked, body)

    return answer
