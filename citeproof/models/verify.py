"""Is a model on disk the one that the manifest names?

Hashing a gigabyte takes seconds, so that a stamp beside the files keeps what was found out:
size, time of last change and hash. A file that has changed since is hashed again.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Literal

from citeproof.models.manifest import EmbeddedModel, ModelFile

__all__ = ["STAMP", "State", "check", "is_stamped", "write_stamp"]

STAMP = ".verified.json"

State = Literal["missing", "good", "corrupt"]


def check(model: EmbeddedModel, folder: Path) -> State:
    """Whether `folder` holds the model; hashes whatever the stamp does not vouch for."""
    if any(not (folder / file.name).is_file() for file in model.files):
        return "missing"
    if is_stamped(model, folder):
        return "good"
    if any(not _is(folder / file.name, file) for file in model.files):
        return "corrupt"
    write_stamp(model, folder)
    return "good"


def is_stamped(model: EmbeddedModel, folder: Path) -> bool:
    """Whether all files are those that were hashed before, by size and time of last change."""
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
        return bool(stamp == _stamp(model, folder))
    except (OSError, ValueError):
        return False


def write_stamp(model: EmbeddedModel, folder: Path) -> None:
    """Note that all files have just been hashed and are right."""
    file = folder / STAMP
    temporary = file.with_name(f"{STAMP}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(_stamp(model, folder)), encoding="utf-8")
        temporary.replace(file)
    except OSError:
        pass  # a cache shared read-only: each start hashes anew, and is still right


def _stamp(model: EmbeddedModel, folder: Path) -> dict[str, list[int | str]]:
    stats = {file: (folder / file.name).stat() for file in model.files}
    return {file.name: [s.st_size, s.st_mtime_ns, file.sha256] for file, s in stats.items()}


def _is(path: Path, file: ModelFile) -> bool:
    if path.stat().st_size != file.size:
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256
