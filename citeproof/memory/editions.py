"""Editions of an index in a folder: who searches keeps what it opened, who writes makes the next.

What chromadb 1.5.9 does with an index that one process updates and another one opens and searches
was tried. Within a minute both ended in segmentation faults, and so did every process that opened
the index afterwards; in the next run each call failed from then on ("Failed to apply logs to the
hnsw segment writer"). One that had the index open all the time was given passages that had no
vector any more. Processes that only search did no harm to each other.

So what is searched is not written. A writer, one at a time, works on a copy, and then names that
as the newest edition; a process that is killed meanwhile leaves everything as it was. Who opens an
edition holds a lock in it, and an older one is deleted when nobody does. What an earlier version
of citeproof left in the folder itself counts as an edition, too.
"""

from __future__ import annotations

import shutil
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from citeproof.errors import StoreError

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["Draft", "Edition", "Editions", "alone"]

_PATIENCE = 1.0
"""Seconds that a writer waits for another one, which may only be tidying up."""
_TABLES = "chroma.sqlite3"


@dataclass
class Draft:
    """An edition in the making."""

    folder: Path
    keep: bool = False
    """Whether it is to be the newest edition."""


class Edition:
    """An edition that is kept until it is closed."""

    def __init__(self, folder: Path, lock: BaseFileLock, editions: Editions) -> None:
        self.folder = folder
        self._lock = lock
        self._editions = editions

    def close(self) -> None:
        """Let go of it; if it is the last one of an older edition, that is deleted."""
        _give_up(self._lock)
        self._editions.tidy()


class Editions:
    """The editions in a folder.

    Args:
        path: The folder of the settings; the editions are in its subfolder `editions`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._folder = self._path / "editions"

    def open(self) -> Edition | None:
        """The newest edition; None where there is none, and then nothing is made.

        Raises:
            StoreError: It cannot be read, or is not there.
        """
        from filelock import FileLock

        while (folder := self._newest()) is not None:
            # A thread other than that which opened the edition may close it.
            lock = FileLock(folder / f"{uuid.uuid4().hex}.user", thread_local=False)
            with _told(self._path, "read"):
                lock.acquire(timeout=0)
            there = (folder / "chroma" / _TABLES).exists()
            if there and self._newest() == folder:
                return Edition(folder, lock, self)
            _give_up(lock)
            with suppress(OSError):
                folder.rmdir()  # deleted by a writer just before, and made again by the lock
            if self._newest() == folder:
                raise StoreError(
                    f"The index in {folder} is damaged",
                    why="its files are missing",
                    fix=f"Delete {self._path}, and run: citeproof index PATH.",
                )
        return None

    @contextmanager
    def next(self) -> Iterator[Draft]:
        """A copy of the newest edition, or an empty one; published if it is to be kept.

        Only to be called while `alone`.

        Raises:
            StoreError: The copy cannot be made.
        """
        self._sweep()
        newest = self._newest()
        draft = Draft(self._folder / uuid.uuid4().hex)
        try:
            with _told(self._path, "changed"):
                draft.folder.mkdir(parents=True)
                if newest is not None:
                    _copy(newest / "chroma", draft.folder / "chroma")
            yield draft
        finally:
            with _told(self._path, "changed"):
                if draft.keep:
                    pointer = self._pointer.with_suffix(".tmp")
                    pointer.write_text(draft.folder.name, "ascii")
                    pointer.replace(self._pointer)  # so that nobody reads half of it
            self._sweep()
            with suppress(OSError):
                self._folder.rmdir()  # where nothing was kept

    def tidy(self) -> None:
        """Delete what is neither the newest edition nor in use, unless a writer is at work."""
        with suppress(StoreError):
            if any(self._old()):
                with alone(self._path, wait=0):
                    self._sweep()

    def _newest(self) -> Path | None:
        with _told(self._path, "read"):
            try:
                return self._folder / self._pointer.read_text("ascii")
            except FileNotFoundError:
                earlier = (self._path / "chroma" / _TABLES).exists()
                return self._path if earlier else None

    def _old(self) -> Iterator[Path]:
        newest = self._newest()
        folders = [path for path in self._folder.glob("*") if path.is_dir()]
        if (self._path / "chroma").exists():
            folders.append(self._path)
        return (folder for folder in folders if folder != newest)

    def _sweep(self) -> None:
        for folder in self._old():
            if not _unused(folder):
                continue
            parts = [folder]
            if folder == self._path:  # the bank and others are there as well
                parts = [folder / "chroma", *folder.glob("bm25-*")]
            for part in parts:
                shutil.rmtree(part, ignore_errors=True)

    @property
    def _pointer(self) -> Path:
        return self._folder / "newest"


@contextmanager
def alone(path: Path, *, wait: float = _PATIENCE) -> Iterator[None]:
    """The turn to change the index in a folder, which is made; if it stays empty, it is deleted.

    Args:
        path: The folder.
        wait: Seconds until that is given up.

    Raises:
        StoreError: It is another process's turn, or the folder cannot be used.
    """
    from filelock import FileLock, Timeout

    path = path.absolute()
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    lock = FileLock(path / "index.lock", thread_local=False)
    try:
        with _told(path, "changed"):
            path.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=wait)
    except Timeout as error:
        raise StoreError(
            f"The index in {path} is being changed by another process",
            fix="Wait until that is done.",
        ) from error
    try:
        yield
    finally:
        if made and [file.name for file in path.iterdir()] == ["index.lock"]:
            _give_up(lock)
        lock.release()
        for folder in made:
            with suppress(OSError):  # it is not empty
                folder.rmdir()


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(f"{_TABLES}*"))
    # Who opens an edition may write a few bytes of it; a plain copy could have half of them.
    with (
        closing(sqlite3.connect(source / _TABLES)) as old,
        closing(sqlite3.connect(target / _TABLES)) as new,
    ):
        old.backup(new)


def _unused(folder: Path) -> bool:
    from filelock import FileLock, Timeout

    for file in folder.glob("*.user"):
        lock = FileLock(file)
        try:
            lock.acquire(timeout=0)
        except (Timeout, OSError):
            return False
        _give_up(lock)
    return True


def _give_up(lock: BaseFileLock) -> None:
    with suppress(OSError):  # Windows deletes no file that is open, but upon its release
        Path(lock.lock_file).unlink()
    lock.release()


@contextmanager
def _told(path: Path, what: str) -> Iterator[None]:
    from filelock import Timeout

    try:
        yield
    except Timeout:  # an OSError, too
        raise
    except (OSError, ValueError, sqlite3.Error) as error:
        raise StoreError(
            f"The index in {path} cannot be {what}",
            why=getattr(error, "strerror", None) or str(error),
            fix="Make sure that you may write there (a search notes its use of the folder, too), "
            "and that the disk is not full.",
        ) from error
