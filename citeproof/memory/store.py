"""Chroma collections by name, on a server or in memory, and the locks to use them."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception_type,
    retry_if_result,
    stop_after_attempt,
    wait_exponential,
)

from citeproof.errors import CiteproofError, StoreError
from citeproof.files import is_full
from citeproof.memory.base import check_model, used_after_close
from citeproof.memory.locks import Mode, server_lock
from citeproof.text import plain

Act = Literal["upsert", "update", "delete"]

_BATCH = 500
"""Maximum records per request: at most one write of Chroma's vector files falls into it."""
SYNC = 1_000
"""Records after which Chroma writes its vector files."""
_HNSW = {"ef_search": 200, "max_neighbors": 32}
"""With 16 neighbours, some of many near-duplicates are unreachable."""
_NEW = ".new"
"""Suffix of collections that will replace others."""
_ROOM = 4_000_000
"""Free bytes below which SQLite and Chroma fail with many different errors."""


class Store:
    """Chroma's own collections by name, and the locks to use them.

    Error messages contain the place (`where`) and the `fix`. `words` is the folder for the words
    of collections, or None to keep them in memory.
    """

    def __init__(
        self, client: Any, where: str, fix: str, *, words: Path | None = None, sync: int = SYNC
    ) -> None:
        self._client: Any = client
        self._where = where
        self._fix = fix
        self._sync = sync
        self._words = words
        self.space: Literal["cosine", "ip"] = "cosine"
        """The similarity of new collections' vectors."""
        self._is_closed = False
        self._known: dict[str, Any] = {}
        """Collections as last found, by name."""

    @contextmanager
    def reading(self, task: str, *names: str, known: bool = False) -> Iterator[list[Any]]:
        """Yield these collections for one read operation, with None for missing ones.

        Waiting processes log the task, and after too long raise a `StoreError`. With `known`,
        collections found before are not requested again; only `nearest` can be called with them.
        """
        with self._errors(), self._use("read", task) as is_there:
            held = self._known if known else {}
            yield [(held.get(name) or self._find(name)) if is_there else None for name in names]

    @contextmanager
    def writing(self, task: str, embedders: Mapping[str, str]) -> Iterator[list[Any]]:
        """Yield collections for one write operation, by name and embedder; creates missing ones."""
        with self._errors(), self._use("write", task):
            yield self._make(embedders)

    @contextmanager
    def filling(self, task: str, embedders: Mapping[str, str], records: int) -> Iterator[None]:
        """Write the vector files less often while this many records are written.

        A process that opens the folder meanwhile has to read up to 10,000 records first.
        """
        yield

    @contextmanager
    def updating(self, task: str, *names: str, rebuild: bool = False) -> Iterator[Sequence[str]]:
        """Hold the exclusive right to change these collections, in one or several operations.

        Yields the names to write to. In a rebuild these are temporary names, whose collections
        replace the old ones on success; the old ones may be damaged.
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

        If `embeddings` is None, each record gets `[1.0]`, because Chroma requires one.
        """
        if columns.get("embeddings", ()) is None:
            columns["embeddings"] = [[1.0]] * len(ids)
        for place in range(0, len(ids), _BATCH):
            some = slice(place, place + _BATCH)
            part = {name: list(column[some]) for name, column in columns.items()}
            with self._guard(collection, len(ids[some])):
                getattr(collection, act)(ids=list(ids[some]), **part)

    def nearest(self, collection: Any, vectors: Sequence[Any], k: int, **options: Any) -> Any:
        """Return the results of Chroma's `query`; raise a `StoreError` if most vectors are lost."""
        from chromadb.errors import InternalError, NotFoundError

        def lacks_most(got: Any) -> bool:
            fewest = min(map(len, got["ids"]), default=k)
            if "where" in options or 2 * fewest >= k:
                return False  # not counted, because counting reads every record
            return bool(2 * fewest < min(k, collection.count()))

        # Seen at a server: "Error finding id" for a record that another client is writing, and on a
        # busy machine, after a restart, "Nothing found on disk" for longer than 0.15 s.
        again = Retrying(
            retry=retry_if_exception_type(InternalError) | retry_if_result(lacks_most),
            stop=stop_after_attempt(6),
            wait=wait_exponential(multiplier=0.05, max=0.5),
            reraise=True,
        )
        try:
            return again(collection.query, query_embeddings=list(vectors), n_results=k, **options)
        except NotFoundError:  # another process has replaced it
            found = self._find(collection.name.removesuffix(_NEW))
            if found is None:
                raise
            self.check_embedder(found, collection.metadata["embedder"])
            return self.nearest(found, vectors, k, **options)
        except RetryError as error:
            # Seen: without its vector files, Chroma finds only the latest records, silently.
            told = f"The Chroma collection {collection.name!r} {self._where} is damaged"
            why = "most of its vectors are not found"
            raise StoreError(told, why=why, fix=self._fix) from error

    def check_embedder(self, collection: Any, embedder: str) -> None:
        """Raise a `StoreError` if the vectors are from another embedding model."""
        what = f"The Chroma collection {collection.name!r} {self._where}"
        check_model(what, (collection.metadata or {}).get("embedder", ""), embedder, self._fix)

    def list_names(self, start: str) -> list[str]:
        """Return the names of all collections that begin with `start`."""
        with self._errors(), self._use("read", "looking") as is_there:
            found = self._client.list_collections() if is_there else []
        return [collection.name for collection in found if collection.name.startswith(start)]

    def word_file(self, collection: Any) -> Path | None:
        """Return the file of a collection's words; deletes the files of deleted collections."""
        if self._words is None:
            return None
        held = [file for file in self._words.glob("*.words*") if file.is_file()]
        there = {str(one.id) for one in self._client.list_collections()}
        for file in held:
            if file.name.partition(".")[0] not in there:
                with suppress(OSError):  # Windows cannot delete an open file
                    file.unlink()
        return self._words / f"{collection.id}.words"

    def close(self) -> None:
        """Release the store for good; a store in memory is deleted."""
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
            raise used_after_close(f"The Chroma store {self._where}")
        return store_errors(self._where, self._fix)

    @contextmanager
    def _use(self, mode: Mode, task: str) -> Iterator[bool]:
        """Use the client for one operation; yields False if there is nothing to read."""
        yield True

    @contextmanager
    def _guard(self, collection: Any, records: int) -> Iterator[None]:
        """Protect a collection's vector files while this many records are changed."""
        yield

    def _take_turn(self, task: str, name: str) -> AbstractContextManager[None]:
        return server_lock(self._client, f"{name}-turn", task)

    def _clean(self, *, is_rebuilt: bool) -> None:
        """Before and after a rebuild, set a damaged database aside and free disk space."""

    def _make(self, embedders: Mapping[str, str]) -> list[Any]:
        """Return the collections; creates missing ones."""
        hnsw = {**_HNSW, "space": self.space, "sync_threshold": self._sync}
        made = []
        for name, embedder in embedders.items():
            one = self._client.get_or_create_collection(
                name,
                embedding_function=None,
                metadata={"embedder": embedder},
                configuration={"hnsw": hnsw},
            )
            self.check_embedder(one, embedder)
            made.append(one)
        return made

    def _find(self, name: str) -> Any:
        # It may be getting its name right now.
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
            if self._get(name) is not None:
                self._client.delete_collection(name)

    def _replace(self, names: Sequence[str]) -> None:
        """Give new collections the names of those that they replace.

        Until this is done, the last name exists only with the suffix of new collections, which
        tells `_finish` that a process died in between.
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
    """Convert errors of Chroma and the system to `StoreError`."""
    try:
        yield
    except CiteproofError:
        raise
    except BaseException as error:
        import httpx

        # Chroma raises its own errors, ValueError, errors of SQLite, httpx and the system, and if
        # its Rust part panics over a damaged file, one that is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        told, why = f"The Chroma store {where} cannot be used", plain(str(error))[:300]
        if is_full(error) or _is_nearly_full(where):
            told = f"The disk of the Chroma store {where} is full"
            fix = "Free some space, and run it again; what was stored before is kept."
        elif isinstance(error, httpx.TransportError):
            told = f"The Chroma server {where} does not answer"
            fix = "Start it (chroma run), or correct `chroma.host`; what was stored is kept."
        elif isinstance(error, OSError | sqlite3.OperationalError) and where.startswith("in "):
            fix = "Make sure that you may write there (readers write too) and that there is space."
        raise StoreError(told, why=why, fix=fix) from error


def _is_nearly_full(where: str) -> bool:
    """Return whether a folder's disk has less room than Chroma needs, whose errors don't say so."""
    with suppress(OSError):
        return where.startswith("in /") and shutil.disk_usage(where[3:]).free < _ROOM
    return False


def fetch(collection: Any, ids: Sequence[str], *include: str) -> dict[str, tuple[Any, ...]]:
    """Return the included values by id, in the order of `ids`; unknown ids are skipped."""
    found: dict[str, tuple[Any, ...]] = {}
    for place in range(0, len(ids), _BATCH):
        some = list(dict.fromkeys(ids[place : place + _BATCH]))
        got = collection.get(ids=some, include=list(include))
        rows = zip(*(got[name] for name in include), strict=True)
        found |= dict(zip(got["ids"], rows, strict=True))
    return {key: found[key] for key in ids if key in found}


def chroma_settings() -> Any:
    """Return settings for Chroma that turn off its telemetry."""
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)
