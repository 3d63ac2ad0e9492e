"""Results in a run's folder: one JSON line per finished example."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from citeproof.files import file_errors, parse
from citeproof.tools.llm.retries import scrub
from citeproof.types import Answer, Passage

T = TypeVar("T", bound=BaseModel)

_LONGEST = 1000
"""Characters kept of an error's message, which may quote a whole prompt."""


class Failure(BaseModel, frozen=True, extra="forbid"):
    """Why an example has no answer."""

    type: str
    """The error's class."""
    message: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Describe an error without API keys, in one line of at most 1000 characters."""
        message = " ".join(scrub(str(error)).split()).encode("utf-8", "replace").decode()
        return cls(type=type(error).__name__, message=message[:_LONGEST])


class Result(BaseModel, frozen=True, extra="forbid"):
    """The result of a method for an example."""

    id: str
    question: str
    output: str = ""
    """The answer with marks [1][2], without the flags of unproved claims; ALCE's name for it."""
    docs: tuple[Passage, ...] = ()
    """`docs[n - 1]` is the passage with number n."""
    retrieved: tuple[str, ...] | None = ()
    """Ids of all passages that were found, in order; None if unknown."""
    answer: Answer | None = None
    details: dict[str, Any] = {}
    """Further output of the graph, such as CaLM's `rounds`."""
    bank: int | None = None
    """Cases in the memory bank when the example was started; None if there is no bank."""
    seconds: float = 0.0
    """Time from the first step to the last, including waits for concurrent examples."""
    error: Failure | None = None
    """None if there is an answer."""


def read_results(path: Path) -> dict[str, Result]:
    """Return the results by the example's id, the last one if there are several.

    Returns an empty mapping if there is no file. Skips a last line without a line end, which a
    killed process may leave.
    """
    if not path.exists():
        return {}
    return {result.id: result for result in read_lines(path, Result)}


def read_lines(path: Path, kind: type[T]) -> Iterator[T]:
    """Yield the objects of a file of JSON lines, up to its last complete line."""
    with file_errors(path, "read"), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            what = f"{path}, line {number}, is no {kind.__name__.lower()}"
            fix = "The file was changed since it was written; start with a new folder."
            yield parse(kind, line, what, fix)


def append(path: Path, result: Result) -> None:
    """Append a line and flush it to disk."""
    with file_errors(path), path.open("ab") as file:
        file.write(f"{result.model_dump_json()}\n".encode())
        file.flush()
        os.fsync(file.fileno())


def lines_of(objects: Iterable[BaseModel]) -> Iterator[str]:
    """Return objects as JSON lines."""
    return (f"{one.model_dump_json()}\n" for one in objects)


def digest(lines: Iterable[str]) -> str:
    """Return the sha256 of concatenated lines."""
    return hashlib.sha256("".join(lines).encode()).hexdigest()
