"""Processes that share a store with others.

Each printed line is a fact: `ack WHAT` for what was acknowledged, `read WHAT`, and
`error WHAT` for what must not happen.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citeproof.errors import StoreError
from citeproof.memory.bank import KINDS, Bank
from citeproof.memory.evidence import EvidenceLog
from citeproof.memory.index import Index
from citeproof.models.chroma_server import _answers, _launch
from citeproof.settings import ChromaSettings, RetrieverSettings
from tests.memory.fakes import GaussianEmbeddings, case, search

ROOT = Path(__file__).parents[2]


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


@dataclass
class Worker:
    """A process of this module, and the lines that it has printed."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def facts(self, kind: str) -> list[str]:
        return [line[len(kind) + 1 :].strip() for line in self.lines if line.startswith(kind)]

    def wait_for(self, kind: str, number: int = 1, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while len(self.facts(kind)) < number:
            assert time.monotonic() < end, self.lines
            assert self.process.poll() is None or len(self.facts(kind)) >= number, self.lines
            time.sleep(0.02)

    def end(self, *, kill: bool = False) -> None:
        if kill:
            self.process.kill()
        self.process.wait()
        self._reader.join()

    def __post_init__(self) -> None:
        output = self.process.stdout
        assert output is not None
        self._reader = threading.Thread(target=lambda: self.lines.extend(output))
        self._reader.start()


def start(role: str, settings: ChromaSettings, name: str, seconds: float) -> Worker:
    given = role, settings.model_dump_json(), name, seconds
    code = "from tests.memory.worker import main; main()"
    return Worker(python(code, *given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))


def python(code: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Start a program in a separate process, which can import everything that tests can."""
    command = [sys.executable, "-P", "-c", code, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, text=True, **options)


@contextlib.contextmanager
def server(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A Chroma server for a folder."""
    folder.mkdir(exist_ok=True)
    process = _launch(folder, port)
    try:
        while not _answers(port):
            assert process.poll() is None
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


def open_index(settings: ChromaSettings, **options: Any) -> Index:
    return Index.open(settings, RetrieverSettings(), GaussianEmbeddings(), **options)


def until(seconds: float) -> Iterator[int]:
    """Count for this long, starting after the first round, in which Chroma is imported."""
    yield 0
    number, end = 1, time.monotonic() + seconds
    while time.monotonic() < end:
        yield number
        number += 1


@contextlib.contextmanager
def patient() -> Iterator[None]:
    """Ignore errors of an unreachable server: what failed was not acknowledged."""
    try:
        yield
    except StoreError as error:
        told = str(error)
        if not any(sign in told for sign in ("onnect", "isconnected", "reset")):
            say("error", told)
        time.sleep(0.1)


async def write_cases(settings: ChromaSettings, name: str, seconds: float) -> None:
    bank = Bank.open(settings, GaussianEmbeddings())
    for number in until(seconds):
        with patient():
            await bank.add(case(f"{name}{number}"))
            say("ack", f"{name}{number}")


async def read_cases(settings: ChromaSettings, name: str, seconds: float) -> None:
    bank = Bank.open(settings, GaussianEmbeddings())
    for number in until(seconds):
        with patient():
            asked = case(f"A{number % 50}")
            kind = KINDS[number % 3]
            found = await bank.best(kind, question=asked.question, passages=asked.passages)
            if found is not None:
                if found.case != case(found.case.passages[0].id):
                    say("error", "a case in parts:", found.model_dump_json())
                say("read", found.case.passages[0].id)


async def write_evidence(settings: ChromaSettings, name: str, seconds: float) -> None:
    log = EvidenceLog.open(settings, GaussianEmbeddings())
    for number in until(seconds):
        with patient():
            await log.record("What is it?", f"{name}{number}", [], "supported", "vtg")
            say("ack", f"{name}{number}")


def write_documents(settings: ChromaSettings, name: str, seconds: float) -> None:
    folder = Path(name)
    index = open_index(settings)
    for number in until(seconds):
        rows = [
            {"id": f"{folder.name}{number}r{row}", "text": f"{folder.name}{number} row{row} said."}
            for row in range(60)
        ]
        file = folder / f"{number}.jsonl"
        # Not in place: a process killed while writing would leave an empty document.
        part = folder / f"{number}.part"
        part.write_text("\n".join(map(json.dumps, rows)))
        part.replace(file)
        with patient():
            report = index.update([file])
            if report.errors:
                say("error", report.errors)
            say("ack", f"{folder.name}{number}")
    index.close()


def read_documents(settings: ChromaSettings, name: str, seconds: float) -> None:
    index = open_index(settings)
    for number in until(seconds):
        with patient():
            query = f"{name}{number % 5} row{number % 60} said."
            if query in search(index, query, 10, "fused"):
                say("read", query)
    index.close()


def rebuild(settings: ChromaSettings, name: str, seconds: float) -> None:
    for _ in until(seconds):
        with patient():
            index = open_index(settings, rebuild=True)
            index.update([Path(name)])
            index.close()
            say("ack", "rebuilt")


def main() -> None:
    role, data, name, seconds = sys.argv[1:]
    settings = ChromaSettings.model_validate_json(data)
    try:
        done = globals()[role](settings, name, float(seconds))
        if asyncio.iscoroutine(done):
            asyncio.run(done)
    except Exception:
        say("error", traceback.format_exc().replace("\n", " | "))
    say("done")
