"""Locks, and messages for the processes that wait for them.

In a folder a lock is filelock's `ReadWriteLock`, which the system releases when a process dies; a
note next to it names the holder. On a Chroma server a lock is a collection, since a server creates
only one collection of a name. Its metadata name the holder and contain its heartbeat.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import platform
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from citeproof.errors import StoreError

T = TypeVar("T")
Mode = Literal["read", "write"]

PATIENCE = 120.0
"""Seconds after which a waiting process gives up."""
_QUIET = 1.0
"""Seconds that a process waits before it logs a warning."""
_AT_ONCE = 0.02
"""Seconds that do not count as waiting."""
_GIVE_WAY = 0.12
"""Seconds that a released lock stays free for waiting processes: SQLite polls every 0.1 s."""
_BEAT, _SILENCE = 5.0, 30.0
"""Seconds between two heartbeats, and seconds without one after which a holder counts as dead."""

_SQLITE = b"SQLite format 3\0"

_log = logging.getLogger("citeproof")
_numbers = itertools.count()
_mine: set[str] = set()
"""Tokens of the server locks that this process holds or waits for."""


class FolderLock:
    """Lets many threads and processes read a folder, or one write it.

    While a writer waits, no new reader gets in, so readers cannot starve it.

    The folder must exist when the lock is taken. It may have several locks of different names.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._file = folder / f"{name}.lock"
        self._holders = folder / f"{name}.holders"

    @contextmanager
    def hold(self, mode: Mode, task: str) -> Iterator[None]:
        """Hold the lock for a task, whose name waiting processes log.

        Raises:
            StoreError: The lock was not free for `PATIENCE` seconds.
        """
        from filelock import ReadWriteLock, Timeout

        # A lock file that is no database cannot be locked, and contains nothing of value.
        if self._file.is_file() and self._file.read_bytes()[: len(_SQLITE)] not in (b"", _SQLITE):
            self._file.unlink(missing_ok=True)
        # One object excludes other processes but not other threads, so each holder has its own.
        with closing(ReadWriteLock(self._file, is_singleton=False)) as lock:
            acquire = lock.acquire_read if mode == "read" else lock.acquire_write

            def attempt(seconds: float = _QUIET) -> object:
                with suppress(Timeout):
                    return acquire(timeout=seconds)
                return None

            if attempt(_AT_ONCE) is None:
                with self._note("waiting", "waiting-"):
                    holders = partial(self._read_notes, "[0-9]*")
                    _wait(str(self._file.parent), attempt, holders)
            with self._note(task):
                yield
        if any(self._read_notes("waiting-*")):
            time.sleep(_GIVE_WAY)

    @contextmanager
    def _note(self, task: str, kind: str = "") -> Iterator[None]:
        note = self._holders / f"{kind}{os.getpid()}-{next(_numbers)}"
        with suppress(OSError):  # the note is a courtesy
            self._holders.mkdir(exist_ok=True)
            note.write_text(json.dumps(_describe_process(task)), "utf-8")
        try:
            yield
        finally:
            with suppress(OSError):
                note.unlink()

    def _read_notes(self, pattern: str) -> Iterator[dict[str, Any]]:
        """Yield the notes of living processes."""
        for note in self._holders.glob(pattern):
            with suppress(OSError, ValueError):  # its holder has just released the lock
                holder = json.loads(note.read_text("utf-8"))
                if _is_alive(holder):
                    yield holder
                else:
                    note.unlink()


@contextmanager
def server_lock(client: Any, name: str, task: str) -> Iterator[None]:
    """Hold a lock on a Chroma server, as a collection of this name; breaks a dead holder's lock.

    Raises:
        StoreError: The lock was not free for `PATIENCE` seconds.
    """
    mine = {**_describe_process(task), "token": uuid.uuid4().hex, "beat": ""}
    holder: dict[str, Any] = {}
    since = 0.0

    def take() -> Any:
        nonlocal holder, since
        held = client.get_or_create_collection(name, metadata=mine, embedding_function=None)
        found = dict(held.metadata or {})
        if found.get("token") == mine["token"]:
            return held
        if found != holder:  # another one, or its next heartbeat
            holder, since = found, time.monotonic()
        elif not _is_alive(holder) or time.monotonic() - since > _SILENCE:
            _log.warning("%s has died.", _describe([holder]))
            _release(client, held)
            return None
        time.sleep(_GIVE_WAY)  # a holder that just released the lock may seem dead
        return None

    _mine.add(mine["token"])
    ended, held = threading.Event(), None
    try:
        held = _wait(f"The collection {name!r}", take, lambda: [holder])
        threading.Thread(target=_beat, args=(held, ended), daemon=True).start()
        yield
    finally:
        ended.set()
        if held is not None:
            _release(client, held)
        _mine.discard(mine["token"])  # last: until then the holder must not seem dead


def _beat(held: Any, ended: threading.Event) -> None:
    while not ended.wait(_BEAT):
        with suppress(Exception):  # the next beat may arrive
            held.modify(metadata={**held.metadata, "beat": uuid.uuid4().hex})


def _release(client: Any, held: Any) -> None:
    """Delete a lock after renaming it by its id, so that a newer lock of its name stays."""
    with suppress(Exception):  # another process broke the lock, or the server is gone
        held.modify(name=f"{held.name}-{uuid.uuid4().hex}")
        client.delete_collection(held.name)


def _wait(
    place: str, attempt: Callable[[], T | None], holders: Callable[[], Iterable[dict[str, Any]]]
) -> T:
    """Repeat the attempt until it succeeds, and log which process holds the lock."""
    began, is_told = time.monotonic(), False
    while (got := attempt()) is None:
        waited, who = time.monotonic() - began, _describe(holders())
        if waited > PATIENCE:
            raise StoreError(
                f"{place} is in use",
                why=f"{who} had it for more than {PATIENCE:.0f} s",
                fix="Wait until that is done, or end that process.",
            )
        if waited >= _QUIET and not is_told:
            is_told = True
            _log.warning("Waiting: %s has %s in use.", who, place)
    return got


def _describe(holders: Iterable[dict[str, Any]]) -> str:
    return " and ".join(str(holder.get("about")) for holder in holders) or "another process"


def _describe_process(task: str) -> dict[str, Any]:
    """Describe this process to those that wait for it."""
    pid, since = os.getpid(), f"{datetime.now():%H:%M:%S}"
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:3]])[:60] or "python"
    about = f"process {pid} on {platform.node()} ({command}, {task} since {since})"
    return {"host": _name_host(), "pid": pid, "about": about}


def _name_host() -> str:
    """Name the place where process ids mean the same: containers of one name number their own."""
    with suppress(OSError):  # only Linux has this file
        return f"{platform.node()} {Path('/proc/self/ns/pid').readlink()}"
    return platform.node()


def _is_alive(holder: dict[str, Any]) -> bool:
    """Return whether a holder still runs; a process on another machine counts as alive."""
    if holder["host"] != _name_host():
        return True
    if holder["pid"] == os.getpid() and "token" in holder:
        return holder["token"] in _mine
    if os.name == "nt":
        return True  # Windows has no signal 0: `os.kill` would end the process
    try:
        os.kill(int(holder["pid"]), 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True
