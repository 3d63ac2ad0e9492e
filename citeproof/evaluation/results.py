"""Results in a run's folder: one JSON line for each finished example."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from citeproof.evaluation.examples import Example
from citeproof.files import file_errors, parse, write_whole
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
        """An error without keys, in one line of at most 1000 characters."""
        message = " ".join(scrub(str(error)).split()).encode("utf-8", "replace").decode()
        return cls(type=type(error).__name__, message=message[:_LONGEST])


class Result(BaseModel, frozen=True, extra="forbid"):
    """The outcome of a method for an example."""

    id: str
    question: str
    output: str = ""
    """The answer with marks [1][2], as ALCE calls it; without the flags of unproved claims."""
    docs: tuple[Passage, ...] = ()
    """`docs[n - 1]` is the passage with number n."""
    retrieved: tuple[str, ...] | None = ()
    """Ids of all passages found on the way, in order; None where that is unknown."""
    answer: Answer | None = None
    details: dict[str, Any] = {}
    """Further output of the graph, such as CaLM's `rounds`."""
    bank: int | None = None
    """Cases in the memory bank when the example was begun; None where there is no bank."""
    seconds: float = 0.0
    """From the first step to the last; with several examples at once they wait for each other."""
    error: Failure | None = None
    """None where there is an answer."""


def read_results(path: Path) -> dict[str, Result]:
    """The results by the example's id; of several the last counts. None where there is no file.

    A last line without its end, as a killed process leaves it, is passed over.

    Raises:
        InputError: The file cannot be read, or another line is no result.
    """
    if not path.exists():
        return {}
    return {result.id: result for result in read_lines(path, Result)}


def read_lines(path: Path, kind: type[T]) -> Iterator[T]:
    """The objects of a file of JSON lines, up to its last complete line.

    Raises:
        InputError: The file cannot be read, or a line is no such object.
    """
    with file_errors(path, "read"), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            what = f"{path}, line {number}, is no {kind.__name__.lower()}"
            fix = "The file was changed since it was written; begin with a new folder."
            yield parse(kind, line, what, fix)


def write_results(path: Path, results: Iterable[Result]) -> None:
    """Replace the file by these results, whole or not at all.

    Raises:
        InputError: The file cannot be written.
    """
    write_whole(path, (f"{result.model_dump_json()}\n" for result in results))


def append(path: Path, result: Result) -> None:
    """Add a line; it is on the disk when this returns.

    Raises:
        InputError: The file cannot be written.
    """
    with file_errors(path), path.open("ab") as file:
        file.write(f"{result.model_dump_json()}\n".encode())
        file.flush()
        os.fsync(file.fileno())


def lines_of(examples: Iterable[Example]) -> Iterator[str]:
    """Examples as JSON lines."""
    return (f"{example.model_dump_json()}\n" for example in examples)


def digest(lines: Iterable[str]) -> str:
    """The sha256 of lines put together."""
    total = hashlib.sha256()
    for line in lines:
        total.update(line.encode())
    return total.hexdigest()
