"""The one place that opens Chroma: in a folder, at a server, or in memory.

Telemetry is off, and Chroma never embeds: vectors are given to it, or a collection has none.
Whatever Chroma raises comes out as a `StoreError`.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from citeproof.errors import CiteproofError, StoreError
from citeproof.settings import ChromaSettings

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

__all__ = ["Chroma", "Collection", "Record", "forget_vectors"]

_REBUILD = "Build the index anew: citeproof index --rebuild PATH."
_NO_VECTOR = [1.0]
_PAGE = 1000
"""Records that a scan holds in memory at a time."""


@dataclass(frozen=True)
class Record:
    """What a collection keeps under one id, beside its vector."""

    id: str
    text: str
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)


class Chroma:
    """A connection to a Chroma store; `open` makes one."""

    def __init__(self, client: ClientAPI, where: str, *, database: str = "") -> None:
        self._client = client
        self._where = where
        self._database = database

    @classmethod
    def open(cls, settings: ChromaSettings) -> Chroma:
        """Connect to the store that the settings name; a folder is made if need be.

        In memory, every call opens a store of its own, empty at first.

        Raises:
            StoreError: The folder holds a damaged store, or the server does not answer.
        """
        import chromadb
        from chromadb.config import Settings

        # Chroma compares settings between clients, so each is given its own equal ones.
        private = Settings(anonymized_telemetry=False)
        if settings.in_memory:
            where, database = "in memory", f"citeproof-{uuid.uuid4().hex}"
            with _errors(where):
                # All ephemeral clients of a process share one store; databases keep them apart.
                chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False))
                chromadb.AdminClient(private).create_database(database)
                client = chromadb.EphemeralClient(settings=private, database=database)
            return cls(client, where, database=database)
        if settings.host is not None:
            where = f"at {settings.host}:{settings.port}"
            with _errors(where, "Start it (chroma run), or correct `chroma.host` and `.port`."):
                client = chromadb.HttpClient(
                    host=settings.host, port=settings.port, ssl=settings.ssl, settings=private
                )
            return cls(client, where)
        folder = settings.path.absolute() / "chroma"  # Chroma keeps open stores by this string
        where = f"in {folder}"
        with _errors(where):
            folder.mkdir(parents=True, exist_ok=True)
            client = chromadb.PersistentClient(path=str(folder), settings=private)
        return cls(client, where)

    def collection(self, name: str, *, embedder: str | None = None) -> Collection:
        """The collection of that name, made if need be.

        Args:
            name: 3 to 512 characters.
            embedder: Which model its vectors are from; "" for none. None takes what is there.

        Raises:
            StoreError: The vectors that are there come from another model.
        """
        with _errors(self._where):
            known = self._client.get_or_create_collection(
                name,
                embedding_function=None,
                metadata={"embedder": embedder or ""},
                configuration={"hnsw": {"space": "cosine", "ef_search": 200}},
            )
            size = self._client.get_max_batch_size()
        return self._fitting(Collection(known, self._where, size), embedder)

    def find(self, name: str, *, embedder: str | None = None) -> Collection | None:
        """The collection of that name, if there is one.

        Args:
            name: 3 to 512 characters.
            embedder: Which model its vectors are from; None takes what is there.

        Raises:
            StoreError: The vectors that are there come from another model.
        """
        from chromadb.errors import NotFoundError

        with _errors(self._where):
            try:
                known = self._client.get_collection(name, embedding_function=None)
            except NotFoundError:
                return None
            size = self._client.get_max_batch_size()
        return self._fitting(Collection(known, self._where, size), embedder)

    def drop(self, name: str) -> None:
        """Delete a collection, if there is one of that name."""
        from chromadb.errors import NotFoundError

        with _errors(self._where):
            try:
                self._client.delete_collection(name)
            except NotFoundError:
                return

    def _fitting(self, found: Collection, embedder: str | None) -> Collection:
        if embedder is not None and found.embedder != embedder:
            raise StoreError(
                f"The Chroma collection {found.name!r} {self._where} does not fit the embedding "
                "model",
                why=f"its vectors are from {found.embedder or 'no model'}, "
                f"and the settings say {embedder or 'none'}",
                fix=_REBUILD,
            )
        return found

    def close(self) -> None:
        """Let go of the store; one in memory is gone with this."""
        import chromadb

        with _errors(self._where):
            if self._database:
                settings = self._client.get_settings()
                chromadb.AdminClient(settings).delete_database(self._database)
            close = getattr(self._client, "close", None)  # newer Chromas only
            if close is not None:
                close()


class Collection:
    """Records by id, found again by their metadata or by their vectors."""

    def __init__(self, collection: Any, where: str, batch: int) -> None:
        self._collection = collection
        self._where = where
        self._batch = max(1, min(batch, _PAGE))

    @property
    def name(self) -> str:
        """What the store calls it."""
        return str(self._collection.name)

    @property
    def embedder(self) -> str:
        """Which model the vectors are from; empty if the records have none."""
        return str((self._collection.metadata or {}).get("embedder", ""))

    @property
    def dimension(self) -> int:
        """Numbers in a vector; 0 as long as there is none."""
        return int((self._collection.metadata or {}).get("dimension", 0))

    def count(self) -> int:
        """How many records there are."""
        with _errors(self._where):
            return int(self._collection.count())

    def put(
        self,
        records: Sequence[Record],
        vectors: Sequence[Sequence[float]] | None = None,
        *,
        replace: bool = True,
    ) -> None:
        """Store records; one with the same id is replaced, or stays if not `replace`.

        Raises:
            StoreError: The vectors have another dimension than those that are there.
        """
        if not records:
            return
        if vectors is not None:
            self._fit(len(vectors[0]))
        for place in range(0, len(records), self._batch):
            some = records[place : place + self._batch]
            given = vectors[place : place + self._batch] if vectors is not None else None
            store = self._collection.upsert if replace else self._collection.add
            with _errors(self._where):
                store(
                    ids=[record.id for record in some],
                    embeddings=[_NO_VECTOR] * len(some) if given is None else list(given),
                    documents=[record.text for record in some],
                    metadatas=[dict(record.metadata) or None for record in some],
                )

    def note(self, metadata: Mapping[str, Mapping[str, str | int | float | bool]]) -> None:
        """Change single entries of the metadata of records, by id; unknown ids do no harm."""
        ids = list(metadata)
        for place in range(0, len(ids), self._batch):
            some = ids[place : place + self._batch]
            with _errors(self._where):
                self._collection.update(ids=some, metadatas=[dict(metadata[key]) for key in some])

    def ids(self) -> list[str]:
        """The ids of all records."""
        with _errors(self._where):
            return list(self._collection.get(include=[])["ids"])

    def get(self, ids: Sequence[str]) -> list[Record]:
        """The records with these ids, in this order; unknown ids are left out."""
        found: dict[str, Record] = {}
        wanted = list(dict.fromkeys(ids))
        for place in range(0, len(wanted), self._batch):
            some = wanted[place : place + self._batch]
            found |= {record.id: record for record in self._read(ids=some)}
        return [found[key] for key in wanted if key in found]

    def scan(self, where: Mapping[str, Any] | None = None) -> Iterator[Record]:
        """All records, or those with the given metadata, a page at a time."""
        place = 0
        while page := self._read(where=where, limit=_PAGE, offset=place):
            yield from page
            place += len(page)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete records; unknown ids do no harm."""
        for place in range(0, len(ids), self._batch):
            with _errors(self._where):
                self._collection.delete(ids=list(ids[place : place + self._batch]))

    def nearest(self, vectors: Sequence[Sequence[float]], k: int) -> list[list[str]]:
        """For each vector the ids of the k nearest records, the nearest first.

        Raises:
            StoreError: The vectors have another dimension than those that are there.
        """
        if not vectors or not (held := self.count()):
            return [[] for _ in vectors]
        self._fit(len(vectors[0]), store=False)
        with _errors(self._where):
            found = self._collection.query(
                query_embeddings=[list(vector) for vector in vectors],
                n_results=min(k, held),
                include=[],
            )
        if not any(found["ids"]):
            # Seen: with its vector files deleted, Chroma finds nothing and says nothing.
            raise StoreError(
                f"The Chroma collection {self.name!r} {self._where} is damaged",
                why=f"it holds {held} records and finds no vector",
                fix=_REBUILD,
            )
        return [list(ids) for ids in found["ids"]]

    def similarities(
        self, vectors: Sequence[Sequence[float]], ids: Sequence[Sequence[str]]
    ) -> list[list[float]]:
        """For each vector its cosines to the records `ids`; -1 for unknown ids."""
        import numpy as np

        known: dict[str, Any] = {}
        wanted = list(dict.fromkeys(key for some in ids for key in some))
        for place in range(0, len(wanted), self._batch):
            some_ids = wanted[place : place + self._batch]
            with _errors(self._where):
                got = self._collection.get(ids=some_ids, include=["embeddings"])
            known |= dict(zip(got["ids"], got["embeddings"], strict=True))
        found: list[list[float]] = []
        for vector, some in zip(vectors, ids, strict=True):
            own = np.asarray(vector, dtype=np.float32)
            own /= max(float(np.linalg.norm(own)), 1e-12)
            cosines = []
            for key in some:
                other = np.asarray(known.get(key, 0.0 * own), dtype=np.float32)
                length = float(np.linalg.norm(other))
                cosines.append(float(own @ other) / length if length else -1.0)
            found.append(cosines)
        return found

    def _read(self, **which: Any) -> list[Record]:
        with _errors(self._where):
            got = self._collection.get(include=["documents", "metadatas"], **which)
        return [
            Record(key, text or "", metadata or {})
            for key, text, metadata in zip(
                got["ids"], got["documents"], got["metadatas"], strict=True
            )
        ]

    def _fit(self, dimension: int, *, store: bool = True) -> None:
        if self.dimension and self.dimension != dimension:
            raise StoreError(
                f"The Chroma collection {self.name!r} {self._where} does not fit the embedding "
                "model",
                why=f"its vectors have {self.dimension} numbers, and the model's {dimension}",
                fix=_REBUILD,
            )
        if not self.dimension and store:
            with _errors(self._where):
                metadata = {**(self._collection.metadata or {}), "dimension": dimension}
                self._collection.modify(metadata=metadata)


def forget_vectors(settings: ChromaSettings) -> None:
    """Delete the vector files of a store in a folder that nobody has open; its records stay.

    Chroma writes these files in place. Where a process was killed meanwhile, Chroma fails over
    them, or does not come back at all. It goes on without them, and finds no vector that was in
    them: this is for stores that are not searched by Chroma.

    Raises:
        StoreError: They cannot be deleted.
    """
    folder = settings.path.absolute() / "chroma"
    with _errors(f"in {folder}"):
        for segment in folder.iterdir() if folder.is_dir() else ():
            if segment.is_dir():
                shutil.rmtree(segment)


@contextmanager
def _errors(where: str, fix: str = "") -> Iterator[None]:
    try:
        yield
    except CiteproofError:
        raise
    except BaseException as error:
        # Chroma raises its own errors, ValueError, those of SQLite, httpx and the system, and
        # where its Rust part panics over a damaged file, one that is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise StoreError(
            f"The Chroma store {where} cannot be used",
            why=" ".join(str(error).split())[:300],
            fix=fix or "If it is damaged, delete it, and run: citeproof index PATH.",
        ) from error
