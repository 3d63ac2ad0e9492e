"""A web site on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler

from tests.loopback import running


@dataclass
class Answer:
    """The response of a path."""

    body: bytes = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    location: str = ""
    chunked: bool = False
    """Whether the response hides its length from the client."""


@dataclass
class Site:
    """Paths and their responses; any other path returns 404."""

    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """`GET /path`, followed by ` if-none-match` for conditional requests."""
    agents: set[str] = field(default_factory=set)
    url: str = ""

    def page(self, path: str, text: str, *links: str) -> None:
        anchors = "".join(f'<a href="{link}">on</a> ' for link in links)
        html = f"<title>{path}</title><p>{text}</p><p>{anchors}</p>"
        self.answers[path] = Answer(html.encode())


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = site.answers.get(self.path, Answer(b"no", status=404))
            tag = f'"{sha256(answer.body).hexdigest()[:8]}"'
            known = self.headers.get("If-None-Match", "")
            site.asked.append(self.path + (" if-none-match" if known else ""))
            site.agents.add(self.headers["User-Agent"])
            same = known == tag and answer.status == 200
            self.send_response(304 if same else answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("ETag", tag)
            if answer.location:
                self.send_header("Location", answer.location)
            if not answer.chunked and not same:
                self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            if not same:
                self.wfile.write(answer.body)

    with running(Handler) as site.url:
        yield site
