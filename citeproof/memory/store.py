"""Chroma collections by their names, at a server or in memory, and turns to use them."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_fixed

from citeproof.errors import CiteproofError, StoreError
from citeproof.files import is_full
from citeproof.memory.base import check_model
from citeproof.memory.locks import Mode, server_lock

Act = Literal["upsert", "update", "delete"]

_BATCH = 500
"""Most records in one request: Chroma then writes its vector files once at most."""
SYNC = 1_000
"""Records after which Chroma writes its vector files."""
_HNSW = {"ef_search": 200, "max_neighbors": 32}
"""With 16 neighbours some of many near-duplicates cannot be reached."""
_NEW = ".new"
"""Ending of the collections that are about to replace others."""
_ROOM = 4_000_000
"""Bytes; with less, SQLite and Chroma fail in many words."""


class Store:
    """Chroma's own collections, by their names, and turns to use them.

    Errors name its place (`where`) and a `fix`. `beside` is the folder for files that are derived
    from a collection, and named after its id; None if there is none.
    """

    def __init__(
        self, client: Any, where: str, fix: str, *, beside: Path | None = None, sync: int = SYNC
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
            yield self._make_all(embedders)

    @contextmanager
    def filling(self, task: str, embedders: Mapping[str, str], records: int) -> Iterator[None]:
        """While so many records are written, the vector files are written more seldom.

        A process that opens the folder meanwhile first reads up to 10,000 records.
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
        if "where" in options or 2 * _fewest(got, k) >= k:  # counting reads every record
            return got
        there = min(k, collection.count())
        if 2 * _fewest(got, k) < there:
            got = again(collection.query, **query)  # they may have been written meanwhile
        if 2 * _fewest(got, k) < there:
            # Seen: with its vector files deleted, Chroma finds the latest and says nothing.
            told = f"The Chroma collection {collection.name!r} {self._where} is damaged"
            raise StoreError(told, why="most of its vectors are not found", fix=self._fix)
        return got

    def check_embedder(self, collection: Any, embedder: str) -> None:
        """Refuse, by a `StoreError`, another embedding model than that of the vectors."""
        what = f"The Chroma collection {collection.name!r} {self._where}"
        check_model(what, (collection.metadata or {}).get("embedder", ""), embedder, self._fix)
        if (space := collection.configuration_json["hnsw"]["space"]) != self.space:
            why = f"its vectors are compared by {space}, and those of the model by {self.space}"
            raise StoreError(f"{what} does not fit the model", why=why, fix=self._fix)

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
            with store_errors(self._where, self._fix):
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
        return store_errors(self._where, self._fix)

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

    def _make_all(self, embedders: Mapping[str, str]) -> list[Any]:
        return [self._make(name, embedder) for name, embedder in embedders.items()]

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


@contextmanager
def store_errors(where: str, fix: str) -> Iterator[None]:
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


def _fewest(got: Any, k: int) -> int:
    """Records that were found for the query with the fewest."""
    return min(map(len, got["ids"]), default=k)


def _is_nearly_full(where: str) -> bool:
    """Whether a folder's disk has less room than Chroma needs, which does not say so itself."""
    with suppress(OSError):
        return where.startswith("in /") and shutil.disk_usage(where[3:]).free < _ROOM
    return False


def fetch(collection: Any, ids: Sequence[str], *include: str) -> dict[str, tuple[Any, ...]]:
    """The included values, by id, in the order asked for; unknown ids are left out."""
    found: dict[str, tuple[Any, ...]] = {}
    for place in range(0, len(ids), _BATCH):
        some = list(dict.fromkeys(ids[place : place + _BATCH]))
        got = collection.get(ids=some, include=list(include))
        rows = zip(*(got[name] for name in include), strict=True)
        found |= dict(zip(got["ids"], rows, strict=True))
    return {key: found[key] for key in ids if key in found}


def chroma_settings() -> Any:
    """Chroma's own settings, without its telemetry."""
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)
