"""The index: passages of the user's documents, in Chroma, with a BM25 index beside them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from langchain_core.embeddings import Embeddings

from citeproof.errors import SettingsError, StoreError
from citeproof.memory.chroma import Chroma
from citeproof.memory.indexing import IndexReport, Mark, Progress, Store, passage_of, update
from citeproof.settings import ChromaSettings, RetrieverSettings
from citeproof.tools.bm25 import BM25
from citeproof.tools.pool import Candidate, embed_queries, searchable
from citeproof.tools.retrieval import HybridRetriever, Kind
from citeproof.types import Passage

__all__ = ["Index", "IndexReport"]


class Index:
    """Passages by id, and the two searches over them; `open` makes one.

    All methods block; `retriever()` gives what async code awaits. One process at a time may
    call `update`. A process that searches meanwhile sees the change when it opens the index
    again.
    """

    def __init__(
        self,
        chroma: Chroma,
        settings: ChromaSettings,
        retriever: RetrieverSettings,
        embeddings: Embeddings | None,
        store: Store,
    ) -> None:
        self._chroma = chroma
        self._settings = settings
        self._retriever = retriever
        self._embeddings = embeddings
        self._store = store
        self._bm25: BM25 | None = None
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls,
        chroma: ChromaSettings,
        retriever: RetrieverSettings,
        embeddings: Embeddings | None = None,
        *,
        rebuild: bool = False,
    ) -> Index:
        """Open the index that the settings name; it is made, empty, if there is none.

        Args:
            chroma: Where it is.
            retriever: How its passages are cut and searched.
            embeddings: The model for its vectors. May be None where `retriever.kind` is `bm25`;
                a new index is then one of words only.
            rebuild: Begin with an empty index, whatever is there.

        Raises:
            SettingsError: Embeddings are needed and not given.
            StoreError: The store cannot be opened, or its vectors are from another model.
        """
        if embeddings is None and retriever.kind != "bm25":
            raise SettingsError(
                f"A retriever of the kind {retriever.kind!r} needs an embedding model",
                fix="Give one, or set `retriever.kind` to `bm25`.",
            )
        store = Chroma.open(chroma)
        try:
            if rebuild:
                _drop(store, chroma.collection)
            collections = _collections(store, chroma.collection, embeddings)
        except StoreError:
            store.close()
            raise
        return cls(store, chroma, retriever, embeddings, collections)

    def update(self, paths: Sequence[Path], *, progress: Progress | None = None) -> IndexReport:
        """Bring the index in line with the documents at `paths`, files or folders.

        Only what changed since the last time is embedded again, and documents that are gone
        from these folders are dropped. Documents elsewhere stay. It may be interrupted at any
        point: a document whose passages are not all there is done again by the next call.

        Raises:
            ModelError: The embedding model failed.
            StoreError: The store cannot be written, or another process is writing it.
        """
        with self._writing():
            try:
                return update(
                    self._store,
                    [Path(path) for path in paths],
                    self._embeddings,
                    self._retriever.passage_words,
                    progress,
                )
            finally:
                with self._lock:
                    self._bm25 = None

    def count(self) -> int:
        """How many passages there are."""
        return self._store.passages.count()

    def get(self, ids: Sequence[str]) -> list[Passage]:
        """The passages with these ids, in this order; unknown ids are left out."""
        return [passage_of(record) for record in self._store.passages.get(ids)]

    def passages(self) -> Iterator[Passage]:
        """All passages, read a page at a time."""
        return (passage_of(record) for record in self._store.passages.scan())

    def documents(self) -> list[Mark]:
        """The documents that are indexed, by path."""
        marks = (Mark.of(record) for record in self._store.marks.scan())
        return sorted((mark for mark in marks if mark.hash), key=lambda mark: mark.path)

    def clear(self) -> None:
        """Delete all passages. What else the store holds, such as evidence, stays."""
        with self._writing(), self._lock:
            _drop(self._chroma, self._settings.collection)
            self._store = _collections(self._chroma, self._settings.collection, self._embeddings)
            self._bm25 = None

    def retriever(self, kind: Kind | None = None) -> HybridRetriever:
        """A retriever over the index, of the kind in the settings if none is named."""
        return HybridRetriever(self, kind or self._retriever.kind)

    def dense(self, queries: Sequence[str], k: int) -> list[list[str]]:
        """For each query the ids of the k passages with the nearest vectors.

        Raises:
            SettingsError: The index was opened without embeddings.
        """
        vectors = self._vectors(queries)
        return self._store.passages.nearest(vectors, k) if vectors else [[] for _ in queries]

    def lexical(self, queries: Sequence[str], k: int) -> list[list[str]]:
        """For each query the ids of the k best passages by BM25."""
        with self._lock:
            bm25 = self._opened_bm25()
        return bm25.search(queries, k)

    def candidates(self, queries: Sequence[str], depth: int) -> list[list[Candidate]]:
        """For each query the first `depth` passages of both searches, with both scores.

        Raises:
            SettingsError: The index was opened without embeddings.
        """
        vectors = self._vectors(queries)
        by_words = self.lexical(queries, depth)
        if not vectors:
            return [[] for _ in queries]
        by_vector = self._store.passages.nearest(vectors, depth)
        ids = [list(dict.fromkeys([*a, *b])) for a, b in zip(by_vector, by_words, strict=True)]
        cosines = self._store.passages.similarities(vectors, ids)
        with self._lock:
            bm25 = self._opened_bm25()
        scores = bm25.scores(queries, ids)
        return [
            [Candidate(*one) for one in zip(*row, strict=True)]
            for row in zip(ids, cosines, scores, strict=True)
        ]

    def close(self) -> None:
        """Let go of the store."""
        self._bm25 = None
        self._chroma.close()

    def _vectors(self, queries: Sequence[str]) -> list[list[float]]:
        """Of the queries; none if the index is empty, so that no model is loaded for it."""
        if self._embeddings is None:
            raise SettingsError(
                "The index was opened without an embedding model",
                fix="Give one, or search it with the kind `bm25`.",
            )
        return embed_queries(self._embeddings, queries) if self.count() else []

    def _opened_bm25(self) -> BM25:
        if self._bm25 is None:
            self._bm25 = self._open_bm25()
        return self._bm25

    def _open_bm25(self) -> BM25:
        marks = sorted(
            (mark.path, mark.hash, mark.passages) for mark in map(Mark.of, self._store.marks.scan())
        )
        fingerprint = hashlib.sha256(repr(marks).encode()).hexdigest()
        folder = self._settings.path / f"bm25-{self._settings.collection}"
        kept = None if self._settings.in_memory else BM25.load(folder, fingerprint)
        if kept is not None:
            return kept
        ids, texts = [], []
        for passage in self.passages():
            ids.append(passage.id)
            texts.append(searchable(passage))
        built = BM25.build(ids, texts)
        if not self._settings.in_memory:
            try:
                built.save(folder, fingerprint)
            except OSError:  # a read-only folder can be searched all the same
                return built
        return built

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if self._settings.in_memory:
            yield
            return
        from filelock import FileLock, Timeout

        file = self._settings.path / "index.lock"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(file, timeout=0)
            lock.acquire()
        except Timeout as error:
            raise StoreError(
                f"The index in {file.parent} is being changed by another process",
                fix="Wait until that is done.",
            ) from error
        except OSError as error:
            raise StoreError(
                f"The index in {file.parent} cannot be changed", why=str(error.strerror or error)
            ) from error
        try:
            yield
        finally:
            lock.release()


def _collections(chroma: Chroma, name: str, embeddings: Embeddings | None) -> Store:
    embedder = None if embeddings is None else embedder_name(embeddings)
    return Store(chroma.collection(name, embedder=embedder), chroma.collection(f"{name}-documents"))


def _drop(chroma: Chroma, name: str) -> None:
    # The marks go first: passages without a mark are written again, but not the other way.
    chroma.drop(f"{name}-documents")
    chroma.drop(name)


def embedder_name(embeddings: Embeddings) -> str:
    """What the store notes of an embedding model: its own name for it, or its class."""
    for attribute in ("name", "model_name", "model", "model_id"):
        if isinstance(name := getattr(embeddings, attribute, None), str) and name:
            return name
    return type(embeddings).__name__
