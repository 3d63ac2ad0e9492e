"""One user at a time of a Chroma store that several processes write.

What chromadb 1.5.9 does with two processes on one folder was tried. Records with their metadata
are seen by the other process at once, but each process goes on from its own copy of the vector
index. After 3,601 puts a search found 3,592 vectors in one process and 3,589 in the other, and
to read the vectors failed, in a fresh process as well. With deletions among them the next run
could not even write ("Failed to apply logs to the hnsw segment writer"), also where a lock let
one process write at a time. Two that open a new folder together fail ("table collections
already exists"), and over vector files that are cut off Chroma fails or hangs.

So one process at a time uses the store, under a lock. Who finds that another one has written
since opens it anew, and who finds that one died while it wrote deletes the vector files first:
what is kept this way must not depend on them. A file holds the stamp of the last change, which
tells a reader without any lock that nothing has changed.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from citeproof.errors import StoreError
from citeproof.memory.chroma import Chroma, Record, forget_vectors
from citeproof.settings import ChromaSettings

__all__ = ["STAMP", "Access", "Use", "access"]

_WAIT = 120.0
"""Seconds after which a process that waits for the others gives up."""
_POLL = 0.002
"""Seconds between two looks at the lock."""
_GIVE_WAY = 3 * _POLL
"""Seconds that the lock stays free after each use while other processes want it, too."""
STAMP = "stamp"
"""Id of the record that holds the stamp at a server or in memory."""


@dataclass(frozen=True)
class Use:
    """A turn at the store."""

    chroma: Chroma
    before: str
    """The stamp of what the store holds when the turn begins."""
    stamp: str
    """The stamp of what it holds when the turn ends."""
    alone: bool
    """Whether nobody else could change the store meanwhile."""


class Access(Protocol):
    """Turns at a store; all calls may block."""

    def exists(self) -> bool:
        """Whether there is a store to read; asking makes none."""

    def stamps(self) -> tuple[str, ...]:
        """Those of the last change that is complete, and of the one that is being made."""

    def reading(self) -> AbstractContextManager[Use]:
        """A turn to read."""

    def writing(self) -> AbstractContextManager[Use]:
        """A turn to read and write; the only one while it lasts."""

    def size(self) -> int | None:
        """Bytes on disk; None where that is not known."""

    def close(self) -> None:
        """Let go of the store."""


def access(settings: ChromaSettings, kind: Literal["bank", "evidence"]) -> Access:
    """Turns at the store of a kind, beside the passages that the settings name.

    In a folder each kind has a subfolder, so that none waits for another.

    Raises:
        StoreError: The server does not answer.
    """
    if settings.in_memory or settings.host is not None:
        name = f"{settings.collection}-{kind}"
        return _Coherent(Chroma.open(settings), name, private=settings.in_memory)
    return _Folder.of(settings.model_copy(update={"path": settings.path.absolute() / kind}))


class _Coherent:
    """A store in memory or at a server, which by itself shows the same to all.

    Two processes that write at a server at once are not kept apart; each of their calls is whole.
    """

    def __init__(self, chroma: Chroma, collection: str, *, private: bool) -> None:
        self._chroma = chroma
        self._name = collection
        self._private = private
        self._lock = threading.Lock()

    def exists(self) -> bool:
        return True

    def stamps(self) -> tuple[str, ...]:
        return (self._stamp(),)

    @contextmanager
    def reading(self) -> Iterator[Use]:
        with self._lock:
            stamp = self._stamp()  # before what is read, so that no later change goes unnoticed
            yield Use(self._chroma, stamp, stamp, alone=self._private)

    @contextmanager
    def writing(self) -> Iterator[Use]:
        with self._lock:
            use = Use(self._chroma, self._stamp(), uuid.uuid4().hex, alone=self._private)
            yield use
            if (found := self._chroma.find(self._name)) is not None:
                found.put([Record(STAMP, use.stamp, {"kind": STAMP})])

    def size(self) -> int | None:
        return None

    def close(self) -> None:
        self._chroma.close()

    def _stamp(self) -> str:
        found = self._chroma.find(self._name)
        stamps = [] if found is None else found.get([STAMP])
        return stamps[0].text if stamps else ""


class _Folder:
    """A store in a folder; all who have it open in this process share one of these."""

    _open: ClassVar[dict[Path, _Folder]] = {}
    _opening: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, settings: ChromaSettings) -> None:
        self._settings = settings
        self._path = settings.path
        self._lock = threading.Lock()
        self._chroma: Chroma | None = None
        self._seen = ""
        """The stamp of what the open client knows."""
        self._users = 0

    @classmethod
    def of(cls, settings: ChromaSettings) -> _Folder:
        """The one for the folder that the settings name."""
        # Chroma has one client for each folder in a process, whoever asks for it.
        with cls._opening:
            folder = cls._open.setdefault(settings.path, cls(settings))
            folder._users += 1
            return folder

    def exists(self) -> bool:
        return (self._path / "chroma" / "chroma.sqlite3").exists()

    def stamps(self) -> tuple[str, ...]:
        stamp, before = self._read()
        return (stamp, before) if before is not None else (stamp,)

    @contextmanager
    def reading(self) -> Iterator[Use]:
        with self._turn():
            stamp, before = self._read()
            if self._chroma is None or before is not None:
                stamp = self._renew(stamp, died=before is not None)
            assert self._chroma is not None
            yield Use(self._chroma, stamp, stamp, alone=True)

    @contextmanager
    def writing(self) -> Iterator[Use]:
        with self._turn():
            stamp, before = self._read()
            if self._chroma is None or before is not None or stamp != self._seen:
                stamp = self._renew(stamp, died=before is not None)
            assert self._chroma is not None
            use = Use(self._chroma, stamp, uuid.uuid4().hex, alone=True)
            self._write(f"{use.stamp} {stamp}")
            # Where the change fails, this stays: the next turn finds it as if we had died.
            yield use
            self._write(use.stamp)
            self._seen = use.stamp

    def size(self) -> int | None:
        with self._turn():
            files = (self._path / "chroma").rglob("*")
            return sum(file.stat().st_size for file in files if file.is_file())

    def close(self) -> None:
        with self._opening:
            self._users -= 1
            if self._users:
                return
            self._open.pop(self._path, None)
        with self._lock:
            self._drop()

    def _renew(self, stamp: str, *, died: bool) -> str:
        """Open the store anew, and give the stamp of what it holds."""
        self._drop()
        if died:
            forget_vectors(self._settings)
        if died or not stamp:
            stamp = uuid.uuid4().hex
        # To open may write, too: what a process that died had begun, and a new store's tables.
        self._write(f"{stamp} {stamp}")
        self._chroma = Chroma.open(self._settings)
        self._write(stamp)
        self._seen = stamp
        return stamp

    def _drop(self) -> None:
        chroma, self._chroma = self._chroma, None
        if chroma is not None:
            chroma.close()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        from filelock import FileLock, Timeout

        with self._lock, self._told():
            self._path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._file.with_suffix(".lock"), timeout=_WAIT)
            began = time.monotonic()
            try:
                lock.acquire(poll_interval=_POLL)
            except Timeout as error:
                raise StoreError(
                    f"The store in {self._path} is in use by another process",
                    why=f"it was not free for {_WAIT:.0f} s",
                    fix="Wait until that is done.",
                ) from error
            waited = time.monotonic() - began > _POLL
            try:
                yield
            finally:
                lock.release()
                if waited:
                    time.sleep(_GIVE_WAY)

    def _read(self) -> tuple[str, str | None]:
        """The stamp; and while the store is being changed, that of before, else None."""
        try:
            stamp, _, before = self._file.read_text("ascii").partition(" ")
        except FileNotFoundError:
            return "", None
        except (OSError, ValueError) as error:
            raise StoreError(f"{self._file} cannot be read", why=str(error)) from error
        return stamp, before or None

    def _write(self, text: str) -> None:
        draft = self._file.with_suffix(".tmp")
        draft.write_text(text, "ascii")
        draft.replace(self._file)  # so that nobody reads half of it

    @property
    def _file(self) -> Path:
        return self._path / f"{self._path.name}.stamp"

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"The store in {self._path} cannot be used",
                why=error.strerror or str(error),
                fix="Make sure that you may write there, and that the disk is not full.",
            ) from error
