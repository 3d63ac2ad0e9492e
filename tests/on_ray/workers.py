"""What actors open in the tests: scripted models, which leave the id of their process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from citeproof import build_vtg
from tests.evaluation.scripted import reply, toolbox
from tests.memory.fakes import WordEmbeddings


def open_vtg(pids: Path, delay: float = 0.0) -> Any:
    """VTG; a question that contains "deadly" ends its process."""

    def script(prompt: str) -> str:
        (pids / str(os.getpid())).touch()
        if "deadly" in prompt:
            os._exit(1)
        return reply(prompt)

    return build_vtg(toolbox(script, delay), max_claims=1)


@contextmanager
def open_embedder() -> Iterator[WordEmbeddings]:
    yield WordEmbeddings()


def running(pids: Path) -> list[int]:
    return [int(path.name) for path in pids.iterdir()]
