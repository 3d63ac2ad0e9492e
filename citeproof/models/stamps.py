"""Records the content of a verified folder, so that later damage is noticed."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from citeproof.models.manifest import ModelFile

STAMP = ".verified"
"""A file in the folder. Each line has a file's size, modification time, sha256 and name."""


def stamp(folder: Path) -> None:
    """Record the size, time and hash of each file in a complete folder.

    The files get the permissions of any new file, because some libraries write files for one user
    only, and a cache may be shared.
    """
    paths = [path for path in sorted(folder.iterdir()) if path.name != STAMP]
    files = [ModelFile(path.name, path.stat().st_size, sha256(path)) for path in paths]
    noted = folder / STAMP
    noted.write_text(_lines(folder, files), encoding="utf-8")
    for path in paths:
        path.chmod(noted.stat().st_mode)


def check(
    folder: Path, files: Sequence[ModelFile] | None = None
) -> Literal["missing", "good", "corrupt"]:
    """Return whether a folder has these files, by default those that it was stamped with.

    The files are only hashed again if one of them changed since the stamp was written.
    """
    if files is None:
        if not folder.is_dir():
            return "missing"
        try:
            rows = (line.split(" ", 3) for line in _read(folder).splitlines())
            files = [ModelFile(name, int(size), digest) for size, _, digest, name in rows]
        except (OSError, ValueError):  # no stamp, or half of one
            return "corrupt"
        return "good" if files and check(folder, files) == "good" else "corrupt"
    if any(not (folder / file.name).is_file() for file in files):
        return "missing"
    if is_stamped(folder, files):
        return "good"
    if any(not _is(folder / file.name, file) for file in files):
        return "corrupt"
    with suppress(OSError):  # in a cache shared read-only, each start hashes the files again
        (folder / STAMP).write_text(_lines(folder, files), encoding="utf-8")
    return "good"


def is_stamped(folder: Path, files: Sequence[ModelFile]) -> bool:
    """Return whether no file changed since it was hashed, judged by size and modification time."""
    try:
        return _read(folder) == _lines(folder, files)
    except (OSError, ValueError):
        return False


def sha256(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def put_in_place(made: Path, folder: Path) -> None:
    """Rename a complete folder, which replaces a damaged one; a power cut loses nothing."""
    for file in made.rglob("*"):
        if file.is_file():
            with file.open("rb+") as opened:
                os.fsync(opened.fileno())
    shutil.rmtree(folder, ignore_errors=True)
    made.replace(folder)


def _read(folder: Path) -> str:
    return (folder / STAMP).read_text(encoding="utf-8")


def _lines(folder: Path, files: Sequence[ModelFile]) -> str:
    stats = ((file, (folder / file.name).stat()) for file in files)
    return "".join(f"{s.st_size} {s.st_mtime_ns} {f.sha256} {f.name}\n" for f, s in stats)


def _is(path: Path, file: ModelFile) -> bool:
    try:
        return path.stat().st_size == file.size and sha256(path) == file.sha256
    except OSError:  # a disk error, or another user's permissions
        return False
