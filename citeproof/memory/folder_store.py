"""Chroma collections in a folder, locked per operation for many readers or one writer.

Each Chroma client keeps the vector index in memory, so a client reopens the folder after another
one has written.

If a process is killed while Chroma writes its vector files (every `SYNC` records), the files are
torn, and the next process that uses them dies of a segmentation fault (seen with chromadb 1.5.9).
Later writes are in SQLite and survive. So before a write that makes Chroma write its vector files,
the store copies them, and it restores the copy if the writer died.
"""

from __future__ import annotations

import itertools
import shutil
import sqlite3
import tempfile
import threading
import uuid
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, NoReturn

from citeproof.errors import StoreError
from citeproof.files import is_full
from citeproof.memory.locks import FolderLock, Mode
from citeproof.memory.store import SYNC, Store, chroma_settings, store_errors

_FILLING_SYNC = 10_000
"""`sync_threshold` during a large import. Copying the vector files before each write takes time in
proportion to their size, so they are written less often."""
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")
_VECTOR_FILES = "????????-????-????-????-????????????"
"""Glob pattern of Chroma's folders of vector files."""
_spellings = itertools.count()


class FolderStore(Store):
    """Collections in a folder that many processes may read or one may write."""

    def __init__(self, path: Path, fix: str) -> None:
        super().__init__(None, f"in {path}", fix, words=path)
        self._path = path
        self._version = path / "version"
        """A file that every writer changes, once the database exists."""
        self._tables = path / "chroma.sqlite3"
        self._seen = ""
        """The version that the client has opened."""
        self._lock = FolderLock(path, "store")
        self._updates = FolderLock(path, "update")
        self._reopening = threading.Lock()

    @contextmanager
    def _use(self, mode: Mode, task: str) -> Iterator[bool]:
        if mode == "write":
            self._path.mkdir(parents=True, exist_ok=True)
        while mode == "write" or self._version.exists() or self._tables.exists():
            with self._lock.hold(mode, task):
                if mode == "read" and self._copies():
                    mode = "write"  # to restore them
                    continue
                self._reopen()
                if mode == "write":
                    # Before anything is written, so that others reopen even if this process dies.
                    self._seen = uuid.uuid4().hex
                    self._version.write_text(self._seen, "utf-8")
                try:
                    yield True
                except BaseException:
                    if mode == "write":
                        self._seen = ""  # Chroma's memory may differ from what it wrote
                    raise
                return
        yield False

    @contextmanager
    def _guard(self, collection: Any, records: int) -> Iterator[None]:
        segment, written, waiting = self._look_up(str(collection.id))
        if waiting + records < self._sync - 1:
            yield
            return
        copy, draft = self._path / f"copies/{segment}@{written}", self._path / "copies/draft"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        if (self._path / segment).is_dir():
            shutil.copytree(self._path / segment, draft, dirs_exist_ok=True)
        draft.rename(copy)  # an incomplete copy must not count
        yield
        shutil.rmtree(copy)

    @contextmanager
    def filling(self, task: str, embedders: Mapping[str, str], records: int) -> Iterator[None]:
        """Write the vector files less often while this many records are written."""
        if records < _FILLING_SYNC:
            yield
            return
        self._sync = _FILLING_SYNC
        try:
            yield
        finally:
            self._sync = SYNC
            with self.writing(task, embedders) as (made, *_):
                # One more record makes Chroma write them, so that no client has to read the rest.
                if (last := made.get(limit=1, include=["embeddings"]))["ids"]:
                    self.write(made, "update", last["ids"], embeddings=last["embeddings"])

    def _make(self, embedders: Mapping[str, str]) -> list[Any]:
        """Return the collections, with their vector files written every `_sync` records."""
        made = super()._make(embedders)
        if all(one.configuration_json["hnsw"]["sync_threshold"] == self._sync for one in made):
            return made
        with warnings.catch_warnings():  # Chroma warns if there is no embedding function
            warnings.simplefilter("ignore", DeprecationWarning)
            for one in made:
                one.modify(configuration={"hnsw": {"sync_threshold": self._sync}})
        self._let_go()  # a Chroma client keeps the number that it read when it was created
        self._reopen()
        return super()._make(embedders)

    def _take_turn(self, task: str, name: str) -> AbstractContextManager[None]:
        self._path.mkdir(parents=True, exist_ok=True)
        return self._updates.hold("write", task)

    def _clean(self, *, is_rebuilt: bool) -> None:
        with self._lock.hold("write", "cleaning"):
            segments: list[str] = []
            try:
                self._let_go()
                if not is_rebuilt:
                    with store_errors(self._where, self._fix):
                        self._reopen()
                        self._client.list_collections()
                    self._let_go()
                if not self._tables.exists():
                    return
                with closing(sqlite3.connect(self._tables)) as tables:
                    tables.execute("VACUUM")  # reads the whole file, so it detects damage
                    segments = [name for (name,) in tables.execute("SELECT id FROM segments")]
            except (StoreError, sqlite3.DatabaseError) as error:
                if is_rebuilt or not _is_damage(error.__cause__ or error):
                    return  # the database only takes more room than it needs
                self._let_go()
                if self._tables.exists():
                    damaged = self._tables.with_suffix(".damaged")
                    if damaged.is_dir():
                        shutil.rmtree(damaged)
                    self._tables.replace(damaged)
                self._version.unlink(missing_ok=True)
                # Those of a writer that died belong to the damaged database.
                shutil.rmtree(self._path / "copies", ignore_errors=True)
            for folder in self._path.glob(_VECTOR_FILES):
                if folder.name not in segments:  # Chroma doesn't delete them
                    shutil.rmtree(folder, ignore_errors=True)

    def _reopen(self) -> None:
        """Reopen the folder if another client has written; the caller holds the lock."""
        import chromadb

        with self._reopening:
            version = ""
            if self._version.exists():
                version = self._version.read_text("utf-8", errors="replace")
            if self._client is not None and self._seen == version:
                return
            self._let_go()
            if version and not (self._tables.is_file() and self._tables.stat().st_size):
                # Chroma would create a new database, and everything stored would silently be lost.
                raise StoreError(
                    f"The Chroma store {self._where} is damaged",
                    why=f"{self._tables.name} is empty or gone",
                    fix=self._fix,
                )
            copies = self._copies()
            for copy in copies:
                segment, _, before = copy.name.partition("@")
                if before == str(self._look_up(segment)[1]):  # Chroma updates it after the files
                    shutil.rmtree(self._path / segment, ignore_errors=True)
                    shutil.copytree(copy, self._path / segment)
            # Within a process, Chroma shares one client per spelling of a path, so each client gets
            # its own. Its length is that of a binary number: paths may have 4,096 bytes.
            number = f"{next(_spellings):b}".replace("0", "/").replace("1", "./")
            self._client = chromadb.PersistentClient(
                path=f"{self._path}/{number}", settings=chroma_settings()
            )
            self._seen = version
            if copies:
                for collection in self._client.list_collections():  # reads what the files lack
                    collection.get(limit=1, include=["embeddings"])
                shutil.rmtree(self._path / "copies")

    def _copies(self) -> list[Path]:
        """Return the copies of the vector files that a writer was changing when it died."""
        return list(self._path.glob("copies/*@*"))

    def _look_up(self, key: str) -> tuple[str, int, int]:
        """Look up vector files by the name of their folder or the id of their collection.

        Returns:
            The folder's name, the last record that the files contain, and the number of the
            collection's records that they may lack.
        """
        with closing(sqlite3.connect(self._tables)) as tables:
            [found] = tables.execute(
                "SELECT id, coalesce((SELECT seq_id FROM max_seq_id WHERE segment_id = id), 0), "
                "(SELECT count(*) FROM embeddings_queue WHERE topic LIKE '%/' || collection) "
                "FROM segments WHERE scope = 'VECTOR' AND ? IN (id, collection)",
                [key],
            )
        return found  # type: ignore[no-any-return]


class ReadOnlyStore(FolderStore):
    """A store in a folder that is not writable; it works on a copy.

    Locks, words, and Chroma itself need a place to write.
    """

    def __init__(self, path: Path, fix: str) -> None:
        self._copied = tempfile.TemporaryDirectory(prefix="citeproof-", ignore_cleanup_errors=True)
        copied = Path(self._copied.name)
        with store_errors(f"in {path}", fix):
            passing = shutil.ignore_patterns("*.lock", "*.holders")
            shutil.copytree(path, copied, ignore=passing, dirs_exist_ok=True)
        super().__init__(copied, fix)
        self._where = f"in {path}"

    def writing(self, *_: object) -> NoReturn:
        """Raise a `StoreError`."""
        raise StoreError(
            f"The Chroma store {self._where} cannot be changed",
            why="it is read-only",
            fix="Make sure that you may write there, or name another folder with --store.",
        )

    def _take_turn(self, *_: object) -> NoReturn:
        self.writing()

    def close(self) -> None:
        """Release the store for good, and delete the copy."""
        super().close()
        self._copied.cleanup()


def _is_damage(cause: BaseException) -> bool:
    """Return whether an error comes from the file itself, not from the disk or other processes."""
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorname", "").startswith(_DAMAGED)
    is_busy = is_full(cause) or "locked" in str(cause)
    return not (is_busy or isinstance(cause, OSError | MemoryError))
