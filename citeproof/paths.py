"""Paths as people write them, and the files that they name.

`pathlib` of Python 3.11 raises where a name begins with `~` and is nobody's home, is too long,
or lies in a folder that may not be looked into. Opening such a file says why it cannot be read.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["exists", "expand", "is_file", "is_folder", "python_environment", "resolve"]


def expand(path: Path) -> Path:
    """`~` as the home folder; a file may be called `~$report.docx` all the same."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 — leaves what is nobody's home as it is


def resolve(path: Path) -> Path:
    """The one absolute path of a file or folder, with `..` and links resolved."""
    return Path(os.path.realpath(expand(Path(path))))  # never raises for a loop of links


def exists(path: Path) -> bool:
    """Whether anything is there, as far as one may look."""
    return os.path.exists(path)  # noqa: PTH110 — never raises


def is_file(path: Path) -> bool:
    """Whether a file is there, as far as one may look."""
    return os.path.isfile(path)  # noqa: PTH113 — never raises


def is_folder(path: Path) -> bool:
    """Whether a folder is there, as far as one may look."""
    return os.path.isdir(path)  # noqa: PTH112 — never raises


def python_environment() -> dict[str, str]:
    """The environment of a Python process that is to find the modules that this one finds.

    Start it with `-P`: without, it would first look for modules in the folder that it is called in,
    which may be a stranger's.
    """
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
