"""Reads and writes files, with errors that name the file."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, TypeVar

from citeproof.errors import InputError
from citeproof.paths import exists, expand, is_file, is_folder, resolve
from citeproof.text import problem

if TYPE_CHECKING:
    from pydantic import BaseModel

    T = TypeVar("T", bound=BaseModel)


def is_full(error: BaseException) -> bool:
    """Whether the system, SQLite or Chroma says that a disk or a quota is full."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return any(told in str(error) for told in ("disk is full", "No space left on device"))


@contextmanager
def file_errors(path: Path | str, what: Literal["read", "written"] = "written") -> Iterator[None]:
    """Turn `OSError` into an error that names the file; a broken pipe passes unchanged.

    Raises:
        InputError: The system refused an operation inside the block.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        fixes = {
            "read": "Name an existing file that you can read.",
            "written": "Name a file in a folder with enough space that you can write to.",
        }
        raise InputError(
            f"{path} cannot be {what}", why=error.strerror or str(error), fix=fixes[what]
        ) from error


def refuse_place(path: Path, read: Iterable[Path] = ()) -> None:
    """Reject, before a run instead of after it, a file that cannot be written.

    Args:
        path: The file.
        read: Files that the run reads, which must not be lost.

    Raises:
        InputError: The path is no plain file, its folder is missing or inaccessible, or the run
            reads the file.
    """
    path = expand(path)
    what = f"{path} cannot be written"
    _refuse_special(path)
    if not is_folder(folder := resolve(path).parent):
        why = f"there is no folder {folder} that you can access"
        raise InputError(what, why=why, fix="Create it, or name another one.")
    if is_among(path, read):
        raise InputError(what, why="what is read from it would be lost", fix="Name another file.")


def _refuse_special(path: Path) -> None:
    """Reject a folder, a device or a pipe, which a new file would replace."""
    if exists(path) and not is_file(path):
        raise InputError(
            f"{path} cannot be written", why="it is not a plain file", fix="Name another one."
        )


def is_among(path: Path, files: Iterable[Path]) -> bool:
    """Whether a file is one of the given files, even under another name."""
    path = expand(path)
    known = map(expand, files)
    return exists(path) and any(exists(file) and path.samefile(file) for file in known)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces the old one at the end of the block and leaves nothing else behind.

    If the path is a link, its target is replaced.

    Raises:
        InputError: The file cannot be written.
    """
    path = expand(path)
    _refuse_special(path)
    target = resolve(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    with file_errors(path):
        file = draft.open("wb")
    try:
        yield file
        with file_errors(path):
            file.flush()
            os.fsync(file.fileno())
            file.close()
            with suppress(FileNotFoundError):  # a private file stays private
                shutil.copymode(target, draft)
            draft.replace(target)
    finally:
        for clean in (file.close, draft.unlink):  # on a full disk, `close` fails again
            with suppress(OSError):
                clean()


def write_whole(path: Path, text: str | Iterable[str]) -> None:
    """Write a file atomically.

    Args:
        path: The file, which is replaced if it exists.
        text: The whole text, or lines with their line ends.

    Raises:
        InputError: The file cannot be written.
    """
    with whole_file(path) as file, file_errors(path):
        file.writelines(line.encode() for line in ([text] if isinstance(text, str) else text))


def read_file(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        InputError: The file cannot be read.
    """
    with file_errors(path, "read"):
        return expand(path).read_bytes()


def parse(kind: type[T], data: bytes | str, what: str, fix: str) -> T:
    """Parse an object from JSON.

    Args:
        kind: Class of the object.
        data: The JSON.
        what: First sentence of the error, such as `a.json is no manifest of a run`.
        fix: Advice of the error.

    Raises:
        InputError: The JSON is not such an object.
    """
    from pydantic import ValidationError

    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        raise InputError(what, why=problem(error), fix=fix) from error
