"""Where pages and traces are written, and the files that they must not replace."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from citeproof.errors import InputError
from citeproof.paths import exists, expand, is_folder

__all__ = ["is_among", "refuse_place"]


def refuse_place(path: Path, read: Iterable[Path] = ()) -> None:
    """Tell before a run, and not after it, that a file cannot be written where it is wanted.

    Args:
        path: The file.
        read: Files that the run reads, which must not be lost.

    Raises:
        InputError: It is a folder, or is to be in one that is not there to be seen, or is read.
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
    """Whether a file is one of some others, whatever they are called."""
    path = expand(path)
    known = map(expand, files)
    return exists(path) and any(exists(file) and path.samefile(file) for file in known)
