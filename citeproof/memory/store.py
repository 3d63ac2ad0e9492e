"""Chroma collections in a folder, at a Chroma server, or in memory.

**In a folder** many processes read or one writes, each for one operation. Chroma keeps its vector
index in the memory of each client, so a client opens the folder anew once another has written.

When a process is killed while Chroma writes its vector files (every `_SYNC` records), the files
are torn: tried with chromadb 1.5.9, the next process that uses them dies of a segmentation fault.
Later writes are in SQLite, and stay. So before a write that makes Chroma
write these files they are copied, and put back if the writer died meanwhile.

**At a server** Chroma keeps its clients apart.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import tempfile
import threading
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NoReturn

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_fixed

from citeproof.errors import CiteproofError, StoreError
from citeproof.files import is_full
from citeproof.memory.locks import FolderLock, Mode, server_lock
from citeproof.settings import ChromaSettings

Kind = Literal["index", "bank", "evidence"]
Act = Literal["upsert", "update", "delete"]

_BATCH = 500
"""Most records in one request: Chroma then writes its vector files once at most."""
_SYNC, _SERVER_SYNC, _FILLING_SYNC = 1_000, 10_000, 10_000
"""Records after which Chroma writes its vector files; at a server, where these cannot be guarded,
they are seldom written, and so many records are read from SQLite when it starts. A copy of the
files before each write costs what they hold, so during a large import they are seldom written."""
_HNSW = {"ef_search": 200, "max_neighbors": 32}
"""With 16 neighbours some of many near-duplicates cannot be reached."""
_NEW = ".new"
"""Ending of the collections that are about to replace others."""
_FIXES: dict[Kind, str] = {
    "index": "Build the index anew: citeproof index --rebuild PATH.",
    "bank": "Its cases can be moved to a new one: citeproof bank export --all --out CASES.jsonl, "
    "then citeproof bank import --rebuild CASES.jsonl.",
    "evidence": "Answers are written without it meanwhile.",
}
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")
_VECTOR_FILES = "????????-????-????-????-????????????"
"""Chroma's folders of them."""
_ROOM = 4_000_000
"""Bytes; with less, SQLite and Chroma fail in many words."""
_spellings = itertools.count()


def open_store(settings: ChromaSettings, kind: Kind) -> Store:
    """The store of a kind that the settings name; in a folder each kind has a subfolder.

    Raises:
        StoreError: The server does not answer.
    """
    import chromadb

    fix = _FIXES[kind]
    if settings.in_memory:
        # All ephemeral clients of a process share one store; databases keep them apart.
        name = f"citeproof-{uuid.uuid4().hex}"
        chromadb.AdminClient(_settings()).create_database(name)
        client = chromadb.EphemeralClient(settings=_settings(), database=name)
        return Store(client, "in memory", fix)
    host, port = settings.host, settings.port
    if settings.serve and host is None:
        from citeproof.models.chroma_server import serve_folder

        host, port = "127.0.0.1", serve_folder(settings.path.absolute() / "served")
    if host is None:
        path = settings.path.absolute() / kind
        is_writable = not path.is_dir() or os.access(path, os.W_OK)
        return FolderStore(path, fix) if is_writable else ReadOnlyStore(path, fix)
    from platformdirs import user_cache_path

    with _errors(f"at {host}:{port}", "Start it (chroma run), or correct `chroma.host`."):
        client = chromadb.HttpClient(host=host, port=port, ssl=settings.ssl, settings=_settings())
    words = user_cache_path("citeproof") / "words" / f"{host}-{port}"
    return Store(client, f"at {host}:{port}", fix, beside=words, sync=_SERVER_SYNC)


class Store:
    """Chroma's own collections, by their names, and turns to use them.

    Errors name its place (`where`) and a `fix`. `beside` is the folder for files that are derived
    from a collection, and named after its id; None if there is none.
    """

    def __init__(
        self, client: Any, where: str, fix: str, *, beside: Path | None = None, sync: int = _SYNC
    ) -> None:
        self._client: Any = client
        self._where = where
        self._fix = fix
        self._sync = sync
        self.beside = beside
        self.space: Literal["cosine", "ip"] = "cosine"
        """How vectors of new collections are compared."""
        self._is_closed = False
        self._known: dict[str, Any] = {}
        """Collections as they were found last."""

    @contextmanager
    def reading(self, task: str, *names: str, known: bool = False) -> Iterator[list[Any]]:
        """The collections of these names, to be read for one operation; None where there is none.

        Processes that have to wait are told the task; after too long they get a `StoreError`. A
        server is not asked again for a collection that is `known`; if that one was replaced
        meanwhile, the error's cause is Chroma's `NotFoundError`.
        """
        with self._errors(), self._use("read", task) as is_there:
            held = self._known if known else {}
            yield [(held.get(name) or self._find(name)) if is_there else None for name in names]

    @contextmanager
    def writing(self, task: str, embedders: Mapping[str, str]) -> Iterator[list[Any]]:
        """Collections with their embedders' names, made if need be, to be written."""
        with self._errors(), self._use("write", task):
            made = [self._make(name, embedder) for name, embedder in embedders.items()]
            if sum(map(self._set_sync, made)):
                self._let_go()  # Chroma goes by the number that a client found when it was made
                self._reopen()
                made = [self._make(name, embedder) for name, embedder in embedders.items()]
            yield made

    @contextmanager
    def filling(self, task: str, embedders: Mapping[str, str], records: int) -> Iterator[None]:
        """While so many records are written, the vector files are written more seldom.

        A process that opens the folder meanwhile first reads up to `_FILLING_SYNC` records.
        """
        yield

    @contextmanager
    def updating(self, task: str, *names: str, rebuild: bool = False) -> Iterator[Sequence[str]]:
        """The only turn to change these collections, in one operation or in several.

        Yields the names to write to. In a rebuild these are others, whose collections replace the
        old ones if all ends well; what is there may be damaged.
        """
        written = [name + _NEW for name in names] if rebuild else names
        with ExitStack() as held:
            with self._errors():
                held.enter_context(self._take_turn(task, names[0]))
                if rebuild:
                    self._clean(is_rebuilt=False)
                self._finish(names)
                if rebuild:
                    with self._use("write", task):
                        self._delete(written)
            yield written
            if rebuild:
                with self._errors():
                    self._replace(names)
                    self._clean(is_rebuilt=True)

    def write(self, collection: Any, act: Act, ids: Sequence[str], **columns: Any) -> None:
        """Upsert, update or delete records.

        Where `embeddings` are None each record gets `[1.0]`, since Chroma wants one.
        """
        if columns.get("embeddings", ()) is None:
            columns["embeddings"] = [[1.0]] * len(ids)
        for place in range(0, len(ids), _BATCH):
            some = slice(place, place + _BATCH)
            part = {name: list(column[some]) for name, column in columns.items()}
            with self._guard(collection, len(ids[some])):
                getattr(collection, act)(ids=list(ids[some]), **part)

    def nearest(self, collection: Any, vectors: Sequence[Any], k: int, **options: Any) -> Any:
        """The results of Chroma's `query`; a `StoreError` where most vectors are lost."""
        from chromadb.errors import InternalError

        # Seen at a server: "Error finding id", of a record that another client just writes.
        again = Retrying(
            retry=retry_if_exception_type(InternalError),
            stop=stop_after_attempt(4),
            wait=wait_fixed(0.05),
            reraise=True,
        )
        query = {"query_embeddings": list(vectors), "n_results": k, **options}
        got = again(collection.query, **query)
        fewest = min(map(len, got["ids"]), default=k)
        is_short = "where" not in options and 2 * fewest < k  # counting reads every record
        if is_short and 2 * fewest < min(k, collection.count()):
            # Seen: with its vector files deleted, Chroma finds the latest and says nothing.
            told = f"The Chroma collection {collection.name!r} {self._where} is damaged"
            raise StoreError(told, why="most of its vectors are not found", fix=self._fix)
        return got

    def check_embedder(self, collection: Any, embedder: str) -> None:
        """Refuse, by a `StoreError`, another embedding model than that of the vectors."""
        if (held := (collection.metadata or {}).get("embedder", "")) != embedder:
            told = f"The Chroma collection {collection.name!r} {self._where} does not fit the model"
            why = f"its vectors are from {held or 'no model'}, and the settings say "
            raise StoreError(told, why=why + (embedder or "none"), fix=self._fix)
        if (space := collection.configuration_json["hnsw"]["space"]) != self.space:
            told = f"The Chroma collection {collection.name!r} {self._where} does not fit the model"
            why = f"its vectors are compared by {space}, and those of the model by {self.space}"
            raise StoreError(told, why=why, fix=self._fix)

    def list_names(self, start: str) -> list[str]:
        """The names of all collections that start so."""
        with self._errors(), self._use("read", "looking") as is_there:
            found = self._client.list_collections() if is_there else []
        return [collection.name for collection in found if collection.name.startswith(start)]

    def close(self) -> None:
        """Let go of the store for good; one in memory is gone with this."""
        self._is_closed = True
        self._let_go()

    def _let_go(self) -> None:
        import chromadb

        client, self._client = self._client, None
        self._known.clear()
        if client is not None:
            with _errors(self._where, self._fix):
                if self._where == "in memory":
                    admin = chromadb.AdminClient(client.get_settings())
                    admin.delete_database(client.database)
                client.close()

    def _errors(self) -> AbstractContextManager[None]:
        if self._is_closed:
            raise StoreError(
                f"The Chroma store {self._where} was closed",
                why="its Toolbox, index or memory is used after its `close`, or its `with` block",
                fix="Use it before that, or open it again; nothing is damaged.",
            )
        return _errors(self._where, self._fix)

    @contextmanager
    def _use(self, mode: Mode, task: str) -> Iterator[bool]:
        """Use the client for one operation; False if there is nothing to be read."""
        yield True

    @contextmanager
    def _guard(self, collection: Any, records: int) -> Iterator[None]:
        """Protect the vector files of a collection while so many records are changed."""
        yield

    def _take_turn(self, task: str, name: str) -> AbstractContextManager[None]:
        return server_lock(self._client, f"{name}-turn", task)

    def _clean(self, *, is_rebuilt: bool) -> None:
        """Before and after a rebuild: set a damaged database aside, and make room."""

    def _set_sync(self, collection: Any) -> bool:
        """Set after how many records the vector files are written; True if that is a change."""
        return False

    def _reopen(self) -> None:
        """Open the store if it is not."""

    def _make(self, name: str, embedder: str) -> Any:
        made = self._client.get_or_create_collection(
            name,
            embedding_function=None,
            metadata={"embedder": embedder},
            configuration={"hnsw": {**_HNSW, "space": self.space, "sync_threshold": self._sync}},
        )
        self.check_embedder(made, embedder)
        return made

    def _find(self, name: str) -> Any:
        # It may just be getting its name.
        found = self._get(name) or self._get(name + _NEW) or self._get(name)
        self._known[name] = found
        return found

    def _get(self, name: str) -> Any:
        from chromadb.errors import NotFoundError

        with suppress(NotFoundError):
            return self._client.get_collection(name, embedding_function=None)
        return None

    def _delete(self, names: Sequence[str]) -> None:
        for name in names:
            if (found := self._get(name)) is not None:
                self._client.delete_collection(name)
                for file in self.beside.glob(f"{found.id}.*") if self.beside else ():
                    with suppress(OSError):  # Windows deletes no file that is open
                        file.unlink()

    def _replace(self, names: Sequence[str]) -> None:
        """Give new collections the names of those that they replace.

        Meanwhile the last name is that of no collection but of a new one, so that `_finish` sees
        where a process died over it.
        """
        with self._use("write", "replacing"):
            new = {name: found for name in names if (found := self._get(name + _NEW))}
            self._delete([name for name in reversed(names) if name in new or not new])
            for name, found in new.items():
                found.modify(name=name)

    def _finish(self, names: Sequence[str]) -> None:
        with self._use("read", "looking") as is_there:
            begun = is_there and not self._get(names[-1]) and self._get(names[-1] + _NEW)
        if begun:
            self._replace(names)


class FolderStore(Store):
    """Collections in a folder, that many may read, or one may write."""

    def __init__(self, path: Path, fix: str) -> None:
        super().__init__(None, f"in {path}", fix, beside=path)
        self._path = path
        self._version = path / "version"
        """A file that every writer changes, once there is a database."""
        self._tables = path / "chroma.sqlite3"
        self._seen = ""
        """The version that the client has open."""
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
                    mode = "write"  # to put them back
                    continue
                self._reopen()
                if mode == "write":
                    # Before anything is written: also if this process dies, others look anew.
                    self._seen = uuid.uuid4().hex
                    self._version.write_text(self._seen, "utf-8")
                try:
                    yield True
                except BaseException:
                    if mode == "write":
                        self._seen = ""  # what Chroma holds in memory may not be what it wrote
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
        draft.rename(copy)  # half of one is none
        yield
        shutil.rmtree(copy)

    @contextmanager
    def filling(self, task: str, embedders: Mapping[str, str], records: int) -> Iterator[None]:
        """While so many records are written, the vector files are written more seldom."""
        if records < _FILLING_SYNC:
            yield
            return
        self._sync = _FILLING_SYNC
        try:
            yield
        finally:
            self._sync = _SYNC
            with self.writing(task, embedders) as (made, *_):
                # With one record more they are written, so that nobody has to read the rest.
                if (last := made.get(limit=1, include=["embeddings"]))["ids"]:
                    self.write(made, "update", last["ids"], embeddings=last["embeddings"])

    def _set_sync(self, collection: Any) -> bool:
        """Set after how many records the vector files are written; True if that is a change."""
        if collection.configuration_json["hnsw"]["sync_threshold"] == self._sync:
            return False
        with warnings.catch_warnings():  # Chroma warns of collections without a function of its own
            warnings.simplefilter("ignore", DeprecationWarning)
            collection.modify(configuration={"hnsw": {"sync_threshold": self._sync}})
        return True

    def _take_turn(self, task: str, name: str) -> AbstractContextManager[None]:
        self._path.mkdir(parents=True, exist_ok=True)
        return self._updates.hold("write", task)

    def _clean(self, *, is_rebuilt: bool) -> None:
        with self._lock.hold("write", "cleaning"):
            segments: list[str] = []
            try:
                if not is_rebuilt:
                    self._check()
                self._let_go()
                if not self._tables.exists():
                    return
                with closing(sqlite3.connect(self._tables)) as tables:
                    tables.execute("VACUUM")  # reads all of it
                    segments = [name for (name,) in tables.execute("SELECT id FROM segments")]
            except (StoreError, sqlite3.DatabaseError) as error:
                if is_rebuilt or not _is_damage(error.__cause__ or error):
                    return  # then it takes more room than it needs
                self._let_go()
                if self._tables.exists():
                    damaged = self._tables.with_suffix(".damaged")
                    if damaged.is_dir():
                        shutil.rmtree(damaged)
                    self._tables.replace(damaged)
                self._version.unlink(missing_ok=True)
            for folder in self._path.glob(_VECTOR_FILES):
                if folder.name not in segments:  # Chroma leaves them
                    shutil.rmtree(folder, ignore_errors=True)

    def _check(self) -> None:
        """Raise a `StoreError` if Chroma can make nothing of the folder."""
        with _errors(self._where, self._fix):
            self._let_go()
            self._reopen()
            self._client.list_collections()

    def _reopen(self) -> None:
        """Open the folder if another client has written; whoever calls holds the lock."""
        import chromadb

        with self._reopening:
            version = ""
            if self._version.exists():
                version = self._version.read_text("utf-8", errors="replace")
            if self._client is not None and self._seen == version:
                return
            self._let_go()
            if version and not (self._tables.is_file() and self._tables.stat().st_size):
                # Chroma would begin a new one there, and what was stored would seem never to
                # have been.
                raise StoreError(
                    f"The Chroma store {self._where} is damaged",
                    why=f"{self._tables.name} is empty or gone",
                    fix=self._fix,
                )
            copies = self._copies()
            for copy in copies:
                segment, _, before = copy.name.partition("@")
                if before == str(self._look_up(segment)[1]):  # Chroma notes it once all is whole
                    shutil.rmtree(self._path / segment, ignore_errors=True)
                    shutil.copytree(copy, self._path / segment)
            # Chroma has one client for each spelling of a path, whoever asks for it.
            spelling = f"{self._path}/{'./' * next(_spellings)}"
            self._client = chromadb.PersistentClient(path=spelling, settings=_settings())
            self._seen = version
            if copies:
                for collection in self._client.list_collections():  # Chroma reads what they lack
                    collection.get(limit=1, include=["embeddings"])
                shutil.rmtree(self._path / "copies")

    def _copies(self) -> list[Path]:
        """The copies of vector files that a writer was writing when it died."""
        return list(self._path.glob("copies/*@*"))

    def _look_up(self, key: str) -> tuple[str, int, int]:
        """The folder of vector files of this name, or of the collection of this id.

        With the last record that is in them, and how many records of the collection may not be.
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
    """A store in a read-only folder, such as one on a read-only disk; it works on a copy.

    Locks, words, and Chroma itself need a place to write.
    """

    def __init__(self, path: Path, fix: str) -> None:
        self._copied = Path(tempfile.mkdtemp(prefix="citeproof-"))
        with _errors(f"in {path}", fix):
            passing = shutil.ignore_patterns("*.lock", "*.holders")
            shutil.copytree(path, self._copied, ignore=passing, dirs_exist_ok=True)
        super().__init__(self._copied, fix)
        self._where = f"in {path}"

    def _take_turn(self, task: str, name: str) -> NoReturn:
        raise StoreError(
            f"The Chroma store {self._where} cannot be changed",
            why="you may only read it",
            fix="Make sure that you may write there, or name another folder with --store.",
        )

    def close(self) -> None:
        """Let go of the store for good, and of the copy."""
        super().close()
        shutil.rmtree(self._copied, ignore_errors=True)


@contextmanager
def _errors(where: str, fix: str) -> Iterator[None]:
    """Turn what Chroma and the system raise into a `StoreError`."""
    try:
        yield
    except CiteproofError:
        raise
    except BaseException as error:
        import httpx

        # Chroma raises its own errors, ValueError, those of SQLite, httpx and the system, and
        # where its Rust part panics over a damaged file, one that is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        told, why = f"The Chroma store {where} cannot be used", " ".join(str(error).split())[:300]
        if is_full(error) or _is_nearly_full(where):
            told = f"The disk of the Chroma store {where} is full"
            fix = "Make room, and run it again; what was stored before is kept."
        elif isinstance(error, httpx.TransportError):
            told = f"The Chroma server {where} does not answer"
            fix = "Start it (chroma run), or correct `chroma.host`; what was stored is kept."
        elif isinstance(error, OSError | sqlite3.OperationalError) and where.startswith("in "):
            fix = "Make sure that you may write there (readers do, too), and that there is room."
        raise StoreError(told, why=why, fix=fix) from error


def _is_nearly_full(where: str) -> bool:
    """Whether a folder's disk has less room than Chroma needs, which does not say so itself."""
    with suppress(OSError):
        return where.startswith("in /") and shutil.disk_usage(where[3:]).free < _ROOM
    return False


def _is_damage(cause: BaseException) -> bool:
    """Whether an error comes from the file itself, and not from the disk or from other users."""
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorname", "").startswith(_DAMAGED)
    is_busy = is_full(cause) or "locked" in str(cause)
    return not (is_busy or isinstance(cause, OSError | MemoryError))


def fetch(collection: Any, ids: Sequence[str], *include: str) -> dict[str, tuple[Any, ...]]:
    """The included values, by id, in the order asked for; unknown ids are left out."""
    found: dict[str, tuple[Any, ...]] = {}
    for place in range(0, len(ids), _BATCH):
        some = list(dict.fromkeys(ids[place : place + _BATCH]))
        got = collection.get(ids=some, include=list(include))
        rows = zip(*(got[name] for name in include), strict=True)
        found |= dict(zip(got["ids"], rows, strict=True))
    return {key: found[key] for key in ids if key in found}


def _settings() -> Any:
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)
