"""Finds a `citeproof serve` with the same models and store open, so nothing is loaded twice.

The server leaves a note in the folder of its store, which only its user can read.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

from pydantic import BaseModel, SecretStr, ValidationError

from citeproof.errors import PromptError
from citeproof.guard import LOOPBACK
from citeproof.prompts import load_templates
from citeproof.settings import Settings

PATH = "/api/warm"
"""Path at which the server takes requests of the command line."""
_NAME = "serve.json"


class Note(BaseModel, frozen=True):
    """A server's note for the command lines of its user."""

    address: str
    pid: int
    host: str
    """The machine's name, since several machines may share a folder."""
    token: str
    settings: str
    """Fingerprint of the server's settings."""


def fingerprint(settings: Settings) -> str:
    """Return a hash that is equal for processes that would open the same models and store.

    Raises:
        PromptError: The folder of prompts or a file in it cannot be read or used.
    """
    told = {"version": version("citeproof"), "settings": settings.model_dump()}
    if settings.prompts is not None:
        told["prompts"] = load_templates(settings.prompts)
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=_plain).encode()).hexdigest()


def _plain(value: SecretStr | Path) -> str:
    """Convert values that JSON lacks: keys to plain text, and paths to absolute ones."""
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value.absolute())


@contextmanager
def announce(settings: Settings, address: str, port: int) -> Iterator[str]:
    """Leave a note for the block, and yield the note's token.

    An address that stands for all is noted as the loopback address.
    """
    near = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)
    shown = f"[{near}]" if ":" in near else near
    note = Note(
        address=f"http://{shown}:{port}",
        pid=os.getpid(),
        host=socket.gethostname(),
        token=secrets.token_urlsafe(32),
        settings=fingerprint(settings),
    )
    file = settings.chroma.path / _NAME
    # The note names only loopback addresses, so it cannot send a question to another machine.
    if near in LOOPBACK and not settings.chroma.in_memory:
        with suppress(OSError):  # without a note each command loads its own models
            _write(file, note)
    try:
        yield note.token
    finally:
        if _read(file) == note:
            file.unlink(missing_ok=True)


def find_server(settings: Settings) -> Note | None:
    """Find the server that runs on the same store with the same settings, if any.

    A note left by a server that is gone is removed.
    """
    file = settings.chroma.path / _NAME
    note = None if settings.chroma.in_memory else _read(file)
    if note is None or note.host != socket.gethostname():
        return None
    try:
        same = note.settings == fingerprint(settings)
    except PromptError:  # told by the commands that need prompts
        return None
    if not same:
        return None
    lives = _lives(note)
    if lives is False:
        with suppress(OSError):
            file.unlink()
    return note if lives else None


def _write(file: Path, note: Note) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{_NAME}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as opened:
        opened.write(note.model_dump_json())
    draft.replace(file)


def _read(file: Path) -> Note | None:
    """Read the note if this user wrote it: somebody else's folder may contain a note as well."""
    try:
        with file.open("rb") as opened:
            state = os.fstat(opened.fileno())
            if state.st_uid != os.geteuid() or state.st_mode & 0o077:
                return None
            note = Note.model_validate_json(opened.read())
    except (OSError, ValidationError):
        return None
    return note if note.address.startswith(("http://127.0.0.1:", "http://[::1]:")) else None


def _lives(note: Note) -> bool | None:
    """Return whether the server runs; None if it has no models or does not answer in time."""
    import httpx

    try:
        os.kill(note.pid, 0)
        headers = {"authorization": f"Bearer {note.token}"}
        asked = httpx.get(f"{note.address}{PATH}", headers=headers, timeout=10, trust_env=False)
    except (ProcessLookupError, httpx.ConnectError):
        return False
    except (OSError, httpx.HTTPError):
        return None
    return None if asked.status_code == 503 else asked.status_code == 200
