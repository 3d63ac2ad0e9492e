"""The index: passages of the user's documents, in Chroma, with a BM25 index beside them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from langchain_core.embeddings import Embeddings

from citeproof.errors import MissingExtraError, SettingsError, StoreError
from citeproof.memory.chroma import Chroma
from citeproof.memory.editions import Draft, Editions, alone
from citeproof.memory.indexing import IndexReport, Mark, Progress, Store, passage_of, update
from citeproof.settings import ChromaSettings, RetrieverSettings
from citeproof.tools.bm25 import BM25
from citeproof.tools.pool import Candidate, embed_queries, searchable
from citeproof.tools.retrieval import HybridRetriever, Kind
from citeproof.types import Passage

if TYPE_CHECKING:
    from citeproof.models import progress as models
    from citeproof.models.embedder import LocalEmbeddings
    from citeproof.settings import Settings

__all__ = ["Index", "IndexReport", "embedder_for", "embedder_name"]


class Index:
    """Passages by id, and the two searches over them; `open` makes one.

    All methods block; `retriever()` gives what async code awaits. One process at a time may
    call `update`. A process that searches meanwhile goes on with what it has opened, and sees
    the change when it opens the index again.
    """

    def __init__(
        self,
        settings: ChromaSettings,
        retriever: RetrieverSettings,
        embeddings: Embeddings | None,
        *,
        anew: bool = False,
    ) -> None:
        self._settings = settings
        self._retriever = retriever
        self._embeddings = embeddings
        self._anew = anew
        """Whether the next change begins with an empty index."""
        self._closing = ExitStack()
        self._editions: Editions | None = None
        self._chroma: Chroma | None = None
        if settings.in_memory or settings.host is not None:
            self._chroma = self._opened(settings)
        else:
            self._editions = Editions(settings.path)
        try:
            self._view = self._look()
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(
        cls,
        chroma: ChromaSettings,
        retriever: RetrieverSettings,
        embeddings: Embeddings | None = None,
        *,
        rebuild: bool = False,
    ) -> Index:
        """Open the index that the settings name; where there is none, nothing is made yet.

        Args:
            chroma: Where it is.
            retriever: How its passages are cut and searched.
            embeddings: The model for its vectors. May be None where `retriever.kind` is `bm25`.
                A new index of that kind is one of words only, and needs no model.
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
        return cls(chroma, retriever, embeddings, anew=rebuild)

    def update(self, paths: Sequence[Path], *, progress: Progress | None = None) -> IndexReport:
        """Bring the index in line with the documents at `paths`, files or folders.

        Only what changed since the last time is embedded again, and documents that are gone
        from these folders are dropped. Documents elsewhere stay. Where it ends early, what is
        done is kept, and a document whose passages are not all there is done again by the next
        call; if the process is killed, the index in a folder stays as it was.

        Raises:
            ModelError: The embedding model failed.
            StoreError: The store cannot be written, or another process is writing it.
        """
        with self._changing() as (store, embeddings):
            words = self._retriever.passage_words
            return update(store, [Path(path) for path in paths], embeddings, words, progress)

    def count(self) -> int:
        """How many passages there are."""
        return self._view.store.passages.count()

    def get(self, ids: Sequence[str]) -> list[Passage]:
        """The passages with these ids, in this order; unknown ids are left out."""
        return [passage_of(record) for record in self._view.store.passages.get(ids)]

    def passages(self) -> Iterator[Passage]:
        """All passages, read a page at a time."""
        return self._view.passages()

    def documents(self) -> list[Mark]:
        """The documents that are indexed, by path."""
        return [mark for mark in _marks(self._view.store) if mark.hash]

    def clear(self) -> None:
        """Delete all passages. What else the store holds stays."""
        self._anew = True
        with self._changing():
            pass

    def retriever(self, kind: Kind | None = None) -> HybridRetriever:
        """A retriever over the index, of the kind in the settings if none is named."""
        return HybridRetriever(self, kind or self._retriever.kind)

    def dense(self, queries: Sequence[str], k: int) -> list[list[str]]:
        """For each query the ids of the k passages with the nearest vectors.

        Raises:
            SettingsError: The index has no vectors, or was opened without embeddings.
        """
        view = self._view
        vectors = view.vectors(queries)
        return view.store.passages.nearest(vectors, k) if vectors else [[] for _ in queries]

    def lexical(self, queries: Sequence[str], k: int) -> list[list[str]]:
        """For each query the ids of the k best passages by BM25."""
        return self._view.bm25().search(queries, k)

    def candidates(self, queries: Sequence[str], depth: int) -> list[list[Candidate]]:
        """For each query the first `depth` passages of both searches, with both scores.

        Raises:
            SettingsError: The index has no vectors, or was opened without embeddings.
        """
        view = self._view
        vectors = view.vectors(queries)
        if not vectors:
            return [[] for _ in queries]
        by_words = view.bm25().search(queries, depth)
        by_vector = view.store.passages.nearest(vectors, depth)
        ids = [list(dict.fromkeys([*a, *b])) for a, b in zip(by_vector, by_words, strict=True)]
        cosines = view.store.passages.similarities(vectors, ids)
        scores = view.bm25().scores(queries, ids)
        return [
            [Candidate(*one) for one in zip(*row, strict=True)]
            for row in zip(ids, cosines, scores, strict=True)
        ]

    def close(self) -> None:
        """Let go of the store."""
        self._closing.close()

    def _opened(self, settings: ChromaSettings) -> Chroma:
        chroma = Chroma.open(settings)
        self._closing.callback(chroma.close)
        return chroma

    def _look(self) -> _View:
        """The index as it is now. What was opened before stays open: it may be in use."""
        chroma, folder = self._chroma, self._settings.path
        if self._editions is not None and (edition := self._editions.open()) is not None:
            self._closing.callback(edition.close)
            folder = edition.folder
            chroma = self._opened(self._settings.model_copy(update={"path": folder}))
        name, embedder = self._settings.collection, None
        if self._embeddings is not None and self._retriever.kind != "bm25":
            embedder = embedder_name(self._embeddings)
        store = None
        if chroma is not None and not self._anew:
            store = _found(chroma, name, embedder)
        if store is None:
            # An empty one stands for what is not there, so that nothing is made before it is used.
            empty = self._opened(ChromaSettings(in_memory=True))
            return _View(_made(empty, name, embedder), self._embeddings, None)
        kept = None if self._settings.in_memory else folder / f"bm25-{name}"
        return _View(store, self._suited(store.passages.embedder), kept)

    def _suited(self, embedder: str) -> Embeddings | None:
        """The embedding model where the passages' vectors, if they have any, are from it."""
        own = self._embeddings
        return own if own is not None and embedder == embedder_name(own) else None

    @contextmanager
    def _changing(self) -> Iterator[tuple[Store, Embeddings | None]]:
        """What is to be written, and with which model; what comes of it is then searched."""
        turn = nullcontext() if self._settings.in_memory else alone(self._settings.path)
        with turn:
            try:
                if self._editions is None:
                    assert self._chroma is not None
                    writable = self._writable(self._chroma)
                    self._anew = False
                    yield writable
                else:
                    with self._editions.next() as draft, self._drafted(draft) as writable:
                        yield writable
            finally:
                self._view = self._look()

    @contextmanager
    def _drafted(self, draft: Draft) -> Iterator[tuple[Store, Embeddings | None]]:
        settings = self._settings.model_copy(update={"path": draft.folder})
        with closing(Chroma.open(settings)) as chroma:
            before = self._state(chroma)

            def settle(*, failed: bool = False) -> None:
                after = self._state(chroma)
                draft.keep = after != before or (self._anew and bool(after))
                if failed and self._anew:  # what a rebuild would replace is better than nothing
                    draft.keep = any(mark.hash for mark in after)
                self._anew = self._anew and not draft.keep

            try:
                yield self._writable(chroma)
            except StoreError:  # what was being written may be damaged
                raise
            except BaseException:
                settle(failed=True)
                raise
            settle()

    def _writable(self, chroma: Chroma) -> tuple[Store, Embeddings | None]:
        name = self._settings.collection
        if self._anew:
            # The marks go first: passages without a mark are written again, but not the other way.
            chroma.drop(f"{name}-documents")
            chroma.drop(name)
        held = chroma.find(name)
        words = self._retriever.kind == "bm25" and (held is None or not held.embedder)
        embeddings = None if words else self._embeddings
        embedder = None if embeddings is None else embedder_name(embeddings)
        return _made(chroma, name, embedder), embeddings

    def _state(self, chroma: Chroma) -> list[Mark]:
        """What is indexed: a change of any passage changes the mark of its document."""
        store = _found(chroma, self._settings.collection, None)
        if store is None:
            return []
        # Chroma catches up with its log when it is asked; in an edition nobody should have to.
        store.passages.count()
        return _marks(store)


class _View:
    """The index as it was when it was looked at.

    Args:
        store: Its passages.
        embeddings: The model that their vectors are from.
        kept: The folder where its BM25 index is kept, if anywhere.
    """

    def __init__(self, store: Store, embeddings: Embeddings | None, kept: Path | None) -> None:
        self.store = store
        self._embeddings = embeddings
        self._kept = kept
        self._bm25: BM25 | None = None
        self._lock = threading.Lock()

    def passages(self) -> Iterator[Passage]:
        return (passage_of(record) for record in self.store.passages.scan())

    def vectors(self, queries: Sequence[str]) -> list[list[float]]:
        """Of the queries; none if the index is empty, so that no model is loaded for it."""
        if not self.store.passages.count():
            return []
        if self._embeddings is None:
            raise SettingsError(
                "The index was made or opened without an embedding model",
                fix="Search it with the kind `bm25`, or give a model and build the index anew: "
                "citeproof index --rebuild PATH.",
            )
        return embed_queries(self._embeddings, queries)

    def bm25(self) -> BM25:
        with self._lock:
            if self._bm25 is None:
                self._bm25 = self._open_bm25()
            return self._bm25

    def _open_bm25(self) -> BM25:
        marks = [(mark.path, mark.hash, mark.passages) for mark in _marks(self.store)]
        fingerprint = hashlib.sha256(repr(marks).encode()).hexdigest()
        kept = None if self._kept is None else BM25.load(self._kept, fingerprint)
        if kept is not None:
            return kept
        ids, texts = [], []
        for passage in self.passages():
            ids.append(passage.id)
            texts.append(searchable(passage))
        built = BM25.build(ids, texts)
        if self._kept is not None:
            try:
                built.save(self._kept, fingerprint)
            except OSError:  # a full disk, say: it is built anew the next time
                return built
        return built


def _marks(store: Store) -> list[Mark]:
    marks = (Mark.of(record) for record in store.marks.scan())
    return sorted(marks, key=lambda mark: mark.path)


def _found(chroma: Chroma, name: str, embedder: str | None) -> Store | None:
    passages, marks = chroma.find(name, embedder=embedder), chroma.find(f"{name}-documents")
    return None if passages is None or marks is None else Store(passages, marks)


def _made(chroma: Chroma, name: str, embedder: str | None) -> Store:
    return Store(chroma.collection(name, embedder=embedder), chroma.collection(f"{name}-documents"))


def embedder_for(
    settings: Settings, progress: models.Progress | None = None
) -> LocalEmbeddings | None:
    """The embedder that the settings name; nothing is downloaded or loaded before its first use.

    None where it is not installed, and the retriever goes by words alone.

    Raises:
        MissingExtraError: It is not installed.
        ModelError: The settings name a folder that does not exist.
    """
    from citeproof.models.embedder import load_embedder

    try:
        return load_embedder(settings.embedding, settings.models, progress=progress)
    except MissingExtraError:
        if settings.retriever.kind != "bm25":
            raise
        return None


def embedder_name(embeddings: Embeddings) -> str:
    """What the store notes of an embedding model: its own name for it, or its class."""
    for attribute in ("name", "model_name", "model", "model_id"):
        if isinstance(name := getattr(embeddings, attribute, None), str) and name:
            return name
    return type(embeddings).__name__
