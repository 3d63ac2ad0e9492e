"""Files that are read and written, with errors that name the file."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, TypeVar

from citeproof.errors import InputError
from citeproof.paths import exists, expand, is_folder
from citeproof.text import problem

if TYPE_CHECKING:
    from pydantic import BaseModel

    T = TypeVar("T", bound=BaseModel)

__all__ = [
    "file_errors",
    "is_among",
    "is_full",
    "parse",
    "read_file",
    "refuse_place",
    "whole_file",
    "write_whole",
]


def is_full(error: BaseException) -> bool:
    """Whether the system, SQLite or Chroma says that a disk or a quota is full."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return any(told in str(error) for told in ("disk is full", "No space left on device"))


@contextmanager
def file_errors(path: Path | str, what: Literal["read", "written"] = "written") -> Iterator[None]:
    """Raise errors that name the file which the system refuses; a closed pipe passes as it is.

    Raises:
        InputError: Something inside the block was refused.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        fixes = {
            "read": "Name a file that is there and that you may read.",
            "written": "Name a file in a folder that you may write to, with room enough.",
        }
        raise InputError(
            f"{path} cannot be {what}", why=error.strerror or str(error), fix=fixes[what]
        ) from error


def refuse_place(path: Path, read: Iterable[Path] = ()) -> None:
    """Report before a run, not after it, that a file cannot be written to its place.

    Args:
        path: The file.
        read: Files that the run reads, which must not be lost.

    Raises:
        InputError: It is a folder, its folder is missing or hidden, or the run reads it.
    """
    path = expand(path)
    what = f"{path} cannot be written"
    if is_folder(path):
        raise InputError(what, why="it is a folder", fix="Name a file in it.")
    if not is_folder(path.parent):
        why = f"there is no folder {path.parent} that you may look into"
        raise InputError(what, why=why, fix="Make it, or name another one.")
    if is_among(path, read):
        raise InputError(what, why="what is read from it would be lost", fix="Name another file.")


def is_among(path: Path, files: Iterable[Path]) -> bool:
    """Whether a file is one of some others, even under another name."""
    path = expand(path)
    known = map(expand, files)
    return exists(path) and any(exists(file) and path.samefile(file) for file in known)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that replaces the old one once the block is done, and leaves nothing else behind.

    Raises:
        InputError: The file cannot be written.
    """
    path = expand(path)
    draft = path.parent / f".{path.name}.{os.getpid()}.tmp"  # "." has no name
    with file_errors(path):
        file = draft.open("wb")
    try:
        yield file
        with file_errors(path):
            file.flush()
            os.fsync(file.fileno())
            file.close()
            draft.replace(path)
    finally:
        for clean in (file.close, draft.unlink):  # a full disk refuses the rest a second time
            with suppress(OSError):
                clean()


def write_whole(path: Path, text: str | Iterable[str]) -> None:
    """Write a file that appears whole or not at all.

    Args:
        path: Replaced if it is there.
        text: The whole, or lines with their ends.

    Raises:
        InputError: The file cannot be written.
    """
    with whole_file(path) as file, file_errors(path):
        file.writelines(line.encode() for line in ([text] if isinstance(text, str) else text))


def read_file(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        InputError: It cannot be read.
    """
    with file_errors(path, "read"):
        return expand(path).read_bytes()


def parse(kind: type[T], data: bytes | str, what: str, fix: str) -> T:
    """An object from its JSON.

    Args:
        kind: Its class.
        data: The JSON.
        what: The error's first sentence, such as `a.json is no manifest of a run`.
        fix: Its advice.

    Raises:
        InputError: It is not such an object.
    """
    from pydantic import ValidationError

    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        raise InputError(what, why=problem(error), fix=fix) from error
