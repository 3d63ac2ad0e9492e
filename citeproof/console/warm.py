"""Finds a `citeproof serve` that has the same models and store open, so that none is loaded twice.

The server leaves a note in the folder of its store, which its user alone can read.
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

from citeproof.guard import LOOPBACK
from citeproof.settings import Settings

PATH = "/api/warm"
"""Where the server takes requests of the command line."""
_NAME = "serve.json"


class Note(BaseModel, frozen=True):
    """The note of a server to the command lines of its user."""

    address: str
    pid: int
    host: str
    """The machine: a folder may be shared by several."""
    token: str
    settings: str
    """Fingerprint of the server's settings."""


def fingerprint(settings: Settings) -> str:
    """A hash that is the same for all processes that would open the same models and store."""
    told = {"version": version("citeproof"), "settings": settings.model_dump()}
    if settings.prompts is not None:
        prompts = sorted(settings.prompts.glob("*.md"))
        told["prompts"] = {file.name: file.read_text("utf-8") for file in prompts}
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=_plain).encode()).hexdigest()


def _plain(value: SecretStr | Path) -> str:
    """A value that JSON lacks; keys count, and so do folders, wherever one stands."""
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value.absolute())


@contextmanager
def announce(settings: Settings, host: str, port: int) -> Iterator[str]:
    """Leave a note for the block; gives the token that it holds.

    A host that stands for all addresses is told as the loopback address.
    """
    near = "127.0.0.1" if host in ("0.0.0.0", "localhost") else "::1" if host == "::" else host
    shown = f"[{near}]" if ":" in near else near
    note = Note(
        address=f"http://{shown}:{port}",
        pid=os.getpid(),
        host=socket.gethostname(),
        token=secrets.token_urlsafe(32),
        settings=fingerprint(settings),
    )
    file = settings.chroma.path / _NAME
    # Where others listen there is a name of the machine: nobody may lead a question elsewhere.
    if near in LOOPBACK and not settings.chroma.in_memory:
        with suppress(OSError):  # without a note each command loads its own models
            _write(file, note)
    try:
        yield note.token
    finally:
        if _read(file) == note:
            file.unlink(missing_ok=True)


def find_server(settings: Settings) -> Note | None:
    """The server that runs on the same store with the same settings, if there is one.

    A note of a server that is gone is removed.
    """
    file = settings.chroma.path / _NAME
    note = None if settings.chroma.in_memory else _read(file)
    if note is None or note.host != socket.gethostname():
        return None
    if note.settings != fingerprint(settings):
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
    """The note, if this user wrote it: a folder of somebody else's may come with one."""
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
    """Whether the server is there; None if it does not say so in time."""
    import httpx

    try:
        os.kill(note.pid, 0)
        headers = {"authorization": f"Bearer {note.token}"}
        asked = httpx.get(f"{note.address}{PATH}", headers=headers, timeout=10, trust_env=False)
    except (ProcessLookupError, httpx.ConnectError):
        return False
    except (OSError, httpx.HTTPError):
        return None
    return asked.status_code == 200
