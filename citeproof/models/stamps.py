"""Notes the content of a folder when it is made, so that later damage is noticed."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

__all__ = ["STAMP", "check_stamp", "flush", "stamp"]

STAMP = ".verified"
"""Each line is a file's size, time of last change, sha256 and name."""


def stamp(folder: Path) -> None:
    """Note the size, time and hash of each file of a folder that is complete.

    The files get the permissions of any new file: some libraries write theirs for one user alone,
    and a cache may be shared.
    """
    files = [file for file in sorted(folder.iterdir()) if file.name != STAMP]
    noted = folder / STAMP
    noted.write_text("".join(_line(file, _hash(file)) for file in files), encoding="utf-8")
    for file in files:
        file.chmod(noted.stat().st_mode)


def check_stamp(folder: Path) -> Literal["missing", "good", "corrupt"]:
    """Whether a folder still holds what it was stamped with: only what changed is hashed anew."""
    if not folder.is_dir():
        return "missing"
    try:
        noted = (folder / STAMP).read_text(encoding="utf-8")
        changed = False
        for line in noted.splitlines():
            size, _, digest, name = line.split(" ", 3)
            file = folder / name
            if line + "\n" == _line(file, digest):
                continue
            if file.stat().st_size != int(size) or _hash(file) != digest:
                return "corrupt"
            changed = True
    except (OSError, ValueError):  # no stamp, half of one, or a file of it is gone
        return "corrupt"
    if changed:
        with suppress(OSError):  # a cache shared read-only: each start hashes anew
            stamp(folder)
    return "good" if noted else "corrupt"


def flush(folder: Path) -> None:
    """Have the disk take what was written, so that a power cut after a rename loses nothing."""
    for file in folder.rglob("*"):
        if file.is_file():
            with file.open("rb+") as opened:
                os.fsync(opened.fileno())


def _line(file: Path, digest: str) -> str:
    told = file.stat()
    return f"{told.st_size} {told.st_mtime_ns} {digest} {file.name}\n"


def _hash(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
