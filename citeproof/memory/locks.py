"""Locks, and messages for the processes that wait for them.

In a folder a lock is filelock's `ReadWriteLock`, which the system releases when a process dies; a
note beside it says who holds it. At a Chroma server a lock is a collection, since a server makes
one of a name only once; its metadata say who holds it, and beat.
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
"""Seconds after which a process that waits gives up."""
_QUIET = 1.0
"""Seconds that a process waits before it says so."""
_AT_ONCE = 0.02
"""Seconds that do not count as waiting."""
_GIVE_WAY = 0.12
"""Seconds that a lock stays free for those who wait: SQLite looks every 0.1 s."""
_BEAT, _SILENCE = 5.0, 30.0
"""Seconds between two beats, and those without one after which a holder counts as dead."""

_SQLITE = b"SQLite format 3\0"

_log = logging.getLogger("citeproof")
_numbers = itertools.count()
_mine: set[str] = set()
"""The server locks that this process holds."""


class FolderLock:
    """Lets many threads and processes read a folder, or one write it.

    A waiting writer lets no new reader in, so that readers cannot starve it.

    The folder must exist when the lock is taken, and may have several of different names.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._file = folder / f"{name}.lock"
        self._holders = folder / f"{name}.holders"

    @contextmanager
    def hold(self, mode: Mode, task: str) -> Iterator[None]:
        """Hold the lock for a task; waiting processes are told its name.

        Raises:
            StoreError: It was not free for `PATIENCE` seconds.
        """
        from filelock import ReadWriteLock, Timeout

        self._mend()
        # One object tells processes apart, not threads: each holder has its own.
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

    def _mend(self) -> None:
        """Remove a lock file that cannot be locked: it holds nothing else."""
        if self._file.is_file() and self._file.stat().st_size:
            with self._file.open("rb") as file:
                if file.read(len(_SQLITE)) != _SQLITE:
                    self._file.unlink(missing_ok=True)

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
        """The notes of processes that are still there."""
        for note in self._holders.glob(pattern):
            with suppress(OSError, ValueError):  # whose it was has just let go
                holder = json.loads(note.read_text("utf-8"))
                if _is_alive(holder):
                    yield holder
                else:
                    note.unlink()


@contextmanager
def server_lock(client: Any, name: str, task: str) -> Iterator[None]:
    """Hold a lock at a Chroma server, by a collection of this name; a dead holder's is taken away.

    Raises:
        StoreError: It was not free for `PATIENCE` seconds.
    """
    mine = {**_describe_process(task), "token": uuid.uuid4().hex, "beat": ""}
    seen: dict[str, float] = {}
    others: list[dict[str, Any]] = []

    def take() -> Any:
        held = client.get_or_create_collection(name, metadata=mine, embedding_function=None)
        holder = dict(held.metadata or {})
        if holder.get("token") == mine["token"]:
            return held
        others[:] = [holder]
        since = seen.setdefault(f"{holder}", time.monotonic())
        if time.monotonic() - since > _SILENCE or not _is_alive(holder):
            _log.warning("%s has died.", _describe(others))
            _release(client, held)
        else:
            time.sleep(_GIVE_WAY)
        return None

    _mine.add(mine["token"])
    ended, held = threading.Event(), None
    try:
        held = _wait(f"The collection {name!r}", take, lambda: others)
        threading.Thread(target=_beat, args=(held, ended), daemon=True).start()
        yield
    finally:
        ended.set()
        if held is not None:
            _release(client, held)
        _mine.discard(mine["token"])  # not before: others would take the holder for dead


def _beat(held: Any, ended: threading.Event) -> None:
    while not ended.wait(_BEAT):
        with suppress(Exception):  # the next beat may arrive
            held.modify(metadata={**held.metadata, "beat": uuid.uuid4().hex})


def _release(client: Any, held: Any) -> None:
    """End a lock, by its own id and under another name: one that began since must stay."""
    with suppress(Exception):  # it was taken away, or the server is; then it is silent
        held.modify(name=f"{held.name}-{uuid.uuid4().hex}")
        client.delete_collection(held.name)


def _wait(
    place: str, attempt: Callable[[], T | None], holders: Callable[[], Iterable[dict[str, Any]]]
) -> T:
    """Attempt until it succeeds, and log which process holds the lock."""
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
    """This process, for those who wait for it."""
    host, pid, since = platform.node(), os.getpid(), f"{datetime.now():%H:%M:%S}"
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:3]])[:60] or "python"
    about = f"process {pid} on {host} ({command}, {task} since {since})"
    return {"host": host, "pid": pid, "about": about}


def _is_alive(holder: dict[str, Any]) -> bool:
    """Whether a holder is there still; a process of another machine counts as alive."""
    if holder["host"] != platform.node():
        return True
    if holder["pid"] == os.getpid() and "token" in holder:
        return holder["token"] in _mine
    if os.name == "nt":
        return True  # Windows has no signal 0, and would end the process
    try:
        os.kill(int(holder["pid"]), 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True
