"""Reads documents in a separate process, so a bad file cannot harm other work.

The readers use libraries to parse untrusted files, and even a small file can make these take all
memory, or hours. The process starts with the first document that needs it, reads one document after
the other, and is restarted after a document that crashed it or reached a limit.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing.connection import Connection, Pipe
from pathlib import Path

from citeproof.errors import DocumentError
from citeproof.paths import python_environment
from citeproof.settings import DocumentSettings
from citeproof.tools.documents.base import Document, from_json, unusable
from citeproof.tools.documents.files import parse

IN_PROCESS = {".txt", ".text", ".md", ".markdown", ".mdx", ".jsonl", ".ndjson", ".csv", ".tsv"}
"""Text formats that citeproof parses itself, in time and memory linear in the file size."""
_FIX = "Split it, or save it in another format."
_HAS_LIMITS = sys.platform != "win32"


@dataclass
class Sandbox:
    """A process that reads documents within limits."""

    memory: int = 3 << 30
    """Maximum bytes of address space; 0 for no limit."""
    processor_seconds: int = 120
    wall_seconds: float = 300.0
    settings: DocumentSettings = field(default_factory=DocumentSettings)
    """Settings that select the readers."""
    _running: tuple[subprocess.Popen[bytes], Connection] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def parse(self, data: bytes, path: Path) -> Document:
        """Parse a document like `files.parse`, but within the limits.

        Raises:
            DocumentError: The document cannot be read, or not within the limits.
            MissingExtraError: The format needs an extra that is not installed.
        """
        if path.suffix.lower() in IN_PROCESS or not _HAS_LIMITS:
            return parse(data, path, self.settings)
        with self._lock:
            return from_json(self._ask(data, path))

    def close(self) -> None:
        """End the process; the next document starts a new one."""
        with self._lock:
            self._stop()

    def _ask(self, data: bytes, path: Path) -> bytes:
        process, pipe = self._running = self._running or self._start()
        try:
            pipe.send_bytes(os.fsencode(path))
            pipe.send_bytes(data)
            if not pipe.poll(self.wall_seconds):
                why = f"reading it takes more than {self.wall_seconds:g} seconds"
                raise unusable(path, why, _FIX)
            answer, held = pipe.recv_bytes(), int(pipe.recv_bytes())
        except (EOFError, OSError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            self._stop()
            raise self._broken(path, process.returncode) from None
        except BaseException:  # even an interrupt leaves a half-read answer behind
            self._stop()
            raise
        if 0 < self.memory < 2 * held:  # what it still holds counts against the next document
            self._stop()
        return answer

    def _broken(self, path: Path, code: int) -> DocumentError:
        from citeproof.tools.documents.worker import OUT_OF_MEMORY

        if code == OUT_OF_MEMORY:
            why = f"reading it takes more than {self.memory / 2**30:g} GB of memory"
        elif code == -signal.SIGXCPU:
            why = f"reading it takes more than {self.processor_seconds} seconds of processor time"
        else:
            how = f"signal {-code}" if code < 0 else f"status {code}"
            why = f"its reader crashed ({how}), perhaps for lack of memory"
        return unusable(path, why, _FIX)

    def _start(self) -> tuple[subprocess.Popen[bytes], Connection]:
        # A separate module: multiprocessing would run the caller's script again.
        module = "citeproof.tools.documents.worker"
        settings = self.settings.model_dump_json()
        limits = (str(self.memory), str(self.processor_seconds), settings)
        ours, theirs = Pipe()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(theirs.fileno()), *limits],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=python_environment() | {"HF_HUB_DISABLE_TELEMETRY": "1"},
                start_new_session=True,  # Ctrl-C goes to the main process, which then ends this one
            )
        return process, ours

    def _stop(self) -> None:
        if self._running:
            process, pipe = self._running
            self._running = None
            process.kill()
            process.wait()
            pipe.close()


_shared = Sandbox()
atexit.register(_shared.close)


@lru_cache(maxsize=1)
def _with_models(settings: DocumentSettings) -> Sandbox:
    """Return the process for docling, whose models take minutes and much address space on a GPU."""
    sandbox = Sandbox(0, 4 * 3600, 3600.0, settings)
    atexit.register(sandbox.close)
    return sandbox


def read_safely(data: bytes, path: Path, settings: DocumentSettings | None = None) -> Document:
    """Parse a document like `Sandbox.parse`, in a process that all callers share."""
    if settings is not None and settings.pdf == "docling" and path.suffix.lower() == ".pdf":
        return _with_models(settings).parse(data, path)
    return _shared.parse(data, path)
