"""A small server that huggingface_hub takes for the hub, and that can fail in several ways."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

import huggingface_hub.constants
import pytest

from tests.loopback import running

PORTAL = b"<html>Sign in</html>"


@dataclass
class StandinHub:
    """Files by `OWNER/REPO/FILE`; small ones are in git, so that their hash is not sent."""

    files: dict[str, bytes] = field(default_factory=dict)
    small: set[str] = field(default_factory=set)
    sends: dict[str, bytes] = field(default_factory=dict)
    """File → content sent instead, while its description stays right."""
    breaks: list[int] = field(default_factory=list)
    """Bytes after which each of the next replies breaks off."""
    gated: bool = False
    portal: bool = False
    pause: float = 0.0
    """Seconds to wait before each reply, and in the middle of a file."""
    asked: list[str] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    address: str = ""


@contextmanager
def standin_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandinHub]:
    """Run the server, with huggingface_hub pointed at it as if HF_ENDPOINT had been set."""
    hub = StandinHub()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, *, body: bool) -> None:
            time.sleep(hub.pause)
            hub.asked.append(f"{self.command} {self.path}")
            hub.agents.add(self.headers.get("User-Agent", ""))
            if hub.portal:
                self.reply(200, {}, PORTAL if body else b"", len(PORTAL))
                return
            if hub.gated:
                self.reply(403, {"X-Error-Code": "GatedRepo", "X-Error-Message": "gated"})
                return
            repo, _, rest = self.path[1:].partition("/resolve/")
            name = f"{repo}/{rest.partition('/')[2]}"
            content = hub.files.get(name)
            if content is None:
                self.reply(404, {"X-Error-Code": "EntryNotFound"})
                return
            plain = hashlib.sha1 if name in hub.small else hashlib.sha256
            headers = {"X-Repo-Commit": "c" * 40, "ETag": f'"{plain(content).hexdigest()}"'}
            content = hub.sends.get(name, content) if body else content
            self.reply(200, headers, content if body else b"", len(content))

        def reply(
            self, status: int, headers: dict[str, str], body: bytes = b"", length: int = 0
        ) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            if hub.breaks and body:
                body = body[: hub.breaks.pop(0)]
            self.wfile.write(body[:1000])
            if hub.pause:
                self.wfile.flush()
                time.sleep(hub.pause)
            self.wfile.write(body[1000:])

    with running(Handler) as hub.address:
        constants = huggingface_hub.constants
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        monkeypatch.setattr(constants, "ENDPOINT", hub.address)
        template = hub.address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", False)
        huggingface_hub.close_session()  # one that was opened under other proxy settings
        try:
            yield hub
        finally:
            huggingface_hub.close_session()
