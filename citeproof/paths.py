"""Paths as people write them, and checks of the files that they name.

In Python 3.11, `pathlib` raises if a name begins with `~` but is no user's home, is too long, or is
in an inaccessible folder. These functions do not raise; opening such a file gives the reason.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def expand(path: Path) -> Path:
    """Replace `~` by the home folder; a name such as `~$report.docx` stays unchanged."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 — keeps `~name` without such a user


def resolve(path: Path) -> Path:
    """The canonical absolute path of a file or folder, with `..` and links resolved."""
    return Path(os.path.realpath(expand(Path(path))))  # never raises for a loop of links


def exists(path: Path) -> bool:
    """Whether the path exists, as far as it is accessible."""
    return os.path.exists(path)  # noqa: PTH110 — never raises


def is_file(path: Path) -> bool:
    """Whether the path is a file, as far as it is accessible."""
    return os.path.isfile(path)  # noqa: PTH113 — never raises


def is_folder(path: Path) -> bool:
    """Whether the path is a folder, as far as it is accessible."""
    return os.path.isdir(path)  # noqa: PTH112 — never raises


def python_environment() -> dict[str, str]:
    """The environment for a Python process that must find the same modules as this one.

    Start the process with `-P`. Otherwise, it would first search for modules in its current folder,
    which may be untrusted.
    """
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
