"""The settings files in project folders that the user trusts, by path and content."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from citeproof.files import file_errors, read_file, write_whole


def is_trusted(file: Path) -> bool:
    """Whether the user has trusted this file and it has not changed since."""
    try:
        return _trusted_files().get(str(file.resolve())) == _hash(file.read_bytes())
    except OSError:
        return False


def trust(file: Path) -> Path:
    """Trust a file with its current content in all later runs.

    Returns:
        The file that records the trust.

    Raises:
        InputError: The file cannot be read, or the list cannot be written.
    """
    noted = _trusted_files() | {str(file.resolve()): _hash(read_file(file))}
    place = _place()
    with file_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, json.dumps(noted, indent=2, sort_keys=True) + "\n")
    return place


def _trusted_files() -> dict[str, str]:
    try:
        noted = json.loads(_place().read_text(encoding="utf-8"))
    except (OSError, ValueError):  # nothing is trusted yet
        return {}
    return noted if isinstance(noted, dict) else {}


def _place() -> Path:
    from platformdirs import user_config_path

    return user_config_path("citeproof") / "trusted.json"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
