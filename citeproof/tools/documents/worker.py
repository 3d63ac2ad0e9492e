"""A process that reads documents for another one: `python -m citeproof.tools.documents.worker`.

It receives the path and the bytes of a document, and returns what it read and how much memory it
holds. Its memory is limited once, its processor time per document.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from citeproof.errors import CiteproofError
from citeproof.settings import DocumentSettings
from citeproof.tools.documents.base import to_json, unusable
from citeproof.tools.documents.files import parse

OUT_OF_MEMORY = 77
"""Exit status after the process has reached its memory limit."""


def main(pipe: Connection, memory: int, seconds: int, settings: DocumentSettings) -> None:
    """Answer requests until the pipe is closed, within the limits that `Sandbox` explains."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        _limit_memory(memory)
    with contextlib.suppress(EOFError):
        while True:
            path = Path(os.fsdecode(pipe.recv_bytes()))
            _limit_time(seconds)
            try:
                answer = _answer(pipe.recv_bytes(), path, settings)
            except MemoryError:
                os._exit(OUT_OF_MEMORY)
            pipe.send_bytes(answer)
            pipe.send_bytes(str(_held()).encode())


def _answer(data: bytes, path: Path, settings: DocumentSettings) -> bytes:
    try:
        return to_json(parse(data, path, settings))
    except CiteproofError as error:
        if isinstance(error.__cause__, MemoryError):
            raise MemoryError from error
        return to_json(error)
    except MemoryError:
        raise
    except Exception as error:  # a failing reader must cost only its file
        why = f"its reader failed ({type(error).__name__}: {error})"
        return to_json(unusable(path, why, "Save it again."))


def _limit_memory(most: int) -> None:
    _, hardest = resource.getrlimit(resource.RLIMIT_AS)
    least = most if hardest == resource.RLIM_INFINITY else min(most, hardest)
    with contextlib.suppress(ValueError, OSError):  # macOS refuses such a limit
        resource.setrlimit(resource.RLIMIT_AS, (least, hardest))


def _limit_time(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime) + seconds + 1
    _, hardest = resource.getrlimit(resource.RLIMIT_CPU)
    if hardest == resource.RLIM_INFINITY or limit < hardest:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, hardest))


def _held() -> int:
    """Return the bytes that count against the limit now."""
    with contextlib.suppress(OSError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        return int(pages) * resource.getpagesize()
    # Other systems give only the peak. On Linux a new process inherits its parent's.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    own, most, time, chosen = sys.argv[1:]
    readers = DocumentSettings.model_validate_json(chosen)
    main(Connection(int(own)), int(most), int(time), readers)
