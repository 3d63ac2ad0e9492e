"""The index: passages of the user's documents, found by Chroma's query and by their words."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from citeproof.errors import InputError, SettingsError
from citeproof.memory.documents import (
    GONE,
    IndexedDocument,
    list_documents,
    match,
    read_marks,
    read_validators,
)
from citeproof.memory.ingest import HERE, IndexReport, Progress, Reading, Step, Update
from citeproof.memory.store import Store, fetch, open_store
from citeproof.settings import ChromaSettings, RetrieverSettings
from citeproof.tools.documents.files import find
from citeproof.tools.documents.imports import Import, to_import
from citeproof.tools.documents.sources import Source, text_sources
from citeproof.tools.retrieval import HybridRetriever, Kind
from citeproof.tools.retrieval.embeddings import embed_queries, embedder_name, similarity_of
from citeproof.tools.retrieval.search_pool import Candidate, searchable
from citeproof.tools.retrieval.word_search import Row, Words
from citeproof.tools.web import Fetched, Web, fetch_pages, is_url
from citeproof.types import Box, Passage

__all__ = ["Index", "IndexReport", "IndexedDocument", "Step", "Web"]

_TASK = "searching"
_DOCUMENTS_AT_ONCE = 20
"""Documents whose passages are read at a time to find their words."""


class Index:
    """Passages by id, and the two searches over them; `open` makes one.

    All methods block; `retriever()` gives what async code awaits. Any number of threads and
    processes may search an index while one updates it: each search sees what was written before
    it, and waits for no longer than a batch of passages takes to be stored. Methods raise
    `StoreError` where the store cannot be used, and `ModelError` where the embedding model fails.
    """

    def __init__(
        self,
        store: Store,
        names: Sequence[str],
        retriever: RetrieverSettings,
        embeddings: Embeddings | None,
        *,
        rebuild: bool = False,
        reading: Reading = HERE,
    ) -> None:
        self._store = store
        self._names = names
        self._retriever = retriever
        self._embeddings = embeddings
        self._rebuild = rebuild
        self._read_by = reading
        self._words: dict[Any, Words] = {}
        """By the id of their collection; a rebuild makes another one."""
        self._lock = threading.Lock()

    @property
    def embeddings(self) -> Embeddings | None:
        """What makes vectors; None where the index is searched by words only."""
        return self._embeddings

    @classmethod
    def open(
        cls,
        chroma: ChromaSettings,
        retriever: RetrieverSettings,
        embeddings: Embeddings | None = None,
        *,
        rebuild: bool = False,
        reading: Reading = HERE,
    ) -> Index:
        """Open the index that the settings name; where there is none, nothing is made yet.

        The embeddings may be None where `retriever.kind` is `bm25`: a new index of that kind is one
        of words only. With `rebuild`, the next update begins with an empty index. `reading` says
        how documents are read where that is not in this process.

        Raises:
            SettingsError: Embeddings are needed and not given.
            StoreError: The vectors that are there are from another model.
        """
        if embeddings is None and retriever.kind != "bm25":
            raise SettingsError(
                f"A retriever of the kind {retriever.kind!r} needs an embedding model",
                fix="Give one, or set `retriever.kind` to `bm25`.",
            )
        store = open_store(chroma, "index")
        store.space = "ip" if similarity_of(embeddings) == "inner_product" else "cosine"
        names = [chroma.collection, f"{chroma.collection}-documents"]
        with ExitStack() as opened:
            opened.callback(store.close)
            if not rebuild and retriever.kind != "bm25":
                with store.reading(_TASK, *names) as (passages, _):
                    if passages:
                        store.check_embedder(passages, embedder_name(embeddings))
            opened.pop_all()
        return cls(store, names, retriever, embeddings, rebuild=rebuild, reading=reading)

    def update(
        self,
        documents: Sequence[Path | str],
        *,
        web: Web | None = None,
        follow_links: bool = False,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Bring the index in line with documents: files, folders, and pages of the web.

        Only what changed since the last time is embedded and written, and documents that are gone
        from these folders are dropped, and pages that their site has no more. Documents elsewhere
        stay. Where it ends early, what is done is kept, and a document whose passages are not all
        there is done again by the next call. A rebuild takes the place of the old index when it is
        done, and not before.

        Args:
            documents: Paths, and URLs as strings.
            web: How URLs are fetched; by default each alone, and from public addresses only.
            follow_links: Follow links inside a folder that lead out of it.
            progress: Called with each step.

        Raises:
            InputError: A URL is none, or a rebuild would leave nothing.
        """
        urls = [str(one) for one in documents if is_url(str(one))]
        paths = [Path(one) for one in documents if not is_url(str(one))]
        found = find(paths, follow_links=follow_links)
        known: dict[str, dict[str, str]] = {}
        if urls and not self._rebuild:  # a rebuild does not look at what may be damaged
            with self._read() as (_, marks):
                known = read_validators(marks, self._retriever.passage_words) if marks else {}
        fetched = fetch_pages(urls, web or Web(), known)
        first: list[Fetched] = []  # before the turn is taken: all may be refused, or unchanged
        for page in fetched:
            first.append(page)
            if page.state == "read":
                break
            if progress is not None:
                progress(Step(page.url, "done"))
        is_needed = bool(found.files) or any(page.state == "read" for page in first)
        if self._rebuild and not is_needed and self.count():
            raise InputError(
                "The index is not built anew",
                why="; ".join(page.why for page in first) or "there is no document to read",
                fix="The old one is as it was.",
            )

        def change(update: Update) -> None:
            if paths:  # looked for again: another process may have had its turn meanwhile
                update.add_files(find(paths, follow_links=follow_links))
            if urls:
                update.add_pages(chain(first, fetched))

        return self._update(change, progress, is_needed=is_needed)

    def add(
        self,
        texts: Sequence[str | Document] | Sequence[Passage],
        vectors: Any = None,
        *,
        ids: Sequence[str] | None = None,
        name: str = "passages",
        progress: Progress | None = None,
    ) -> list[str]:
        """Index texts and LangChain documents, or passages with their vectors; return their ids.

        Each text is a document of its own, cut into passages like a file. One with an id that is
        there already replaces it; the same once more changes nothing. What its metadata say of
        `title`, `source` and `page` goes into its passages.

        Passages with vectors are stored as they are, and nothing is embedded. Together they are
        the document of this name, in place of what had it before; what has not changed is not
        written again, so that an interrupted call can be repeated.

        Args:
            texts: What to index.
            vectors: For passages: an array of shape (passages, dimension), of the embedding model
                that the index is searched with.
            ids: By default a document's own, or else made from source and text.
            name: What passages with vectors are known by.
            progress: Called with each step.

        Raises:
            InputError: A text is empty, or its id that of a file or a page; or vectors and
                passages, or vectors and embedding model, do not fit.
        """
        if vectors is not None:
            passages = [one for one in texts if isinstance(one, Passage)]
            if len(passages) < len(texts) or ids is not None:
                raise InputError("Only passages can have vectors", fix="Give `Passage` objects.")
            self.add_import(to_import(passages, vectors, name), progress=progress)
            return [passage.id for passage in passages]
        sources = text_sources([one for one in texts if not isinstance(one, Passage)], ids)
        self.add_sources(sources, progress=progress)
        return [source.name for source in sources]

    def add_sources(
        self, sources: Sequence[Source], *, progress: Progress | None = None
    ) -> IndexReport:
        """Index documents that are neither files nor pages; `add` is for texts."""
        return self._update(
            lambda update: update.add_texts(sources), progress, is_needed=bool(sources)
        )

    def add_import(self, given: Import, *, progress: Progress | None = None) -> IndexReport:
        """Index passages that come with vectors; `add` is for those in memory.

        Raises:
            InputError: The vectors are not of the length of the embedding model's, or a line
                cannot be used.
            SettingsError: The index was opened without an embedding model.
        """
        if self._embeddings is None or self._retriever.kind == "bm25":
            raise SettingsError(
                "Vectors cannot be indexed without an embedding model",
                why="questions would have none to be compared with",
                fix="Set `embedding.model` to the one that they are from.",
            )
        length = len(embed_queries(self._embeddings, ["length"])[0])
        if given.rows and given.dimension != length:
            raise InputError(
                f"The vectors of {given.name} do not fit the embedding model",
                why=f"they have {given.dimension} numbers, and those of "
                f"{embedder_name(self._embeddings)} have {length}",
                fix="Set `embedding.model` to the model that the vectors are from.",
            )
        return self._update(
            lambda update: update.add_import(given), progress, is_needed=bool(given.rows)
        )

    def remove(self, names: Sequence[Path | str]) -> list[str]:
        """Remove documents: files, all in a folder, pages and those below, and texts by their ids.

        Whether the files are still there makes no difference.

        Returns:
            The documents that were removed.

        Raises:
            InputError: One is not in the index; then nothing is removed.
        """
        with self._read() as (_, marks):
            held = read_marks(marks) if marks else {}
        known = [name for name, mark in held.items() if mark != GONE]
        chosen = match(list(map(str, names)), known)

        self._update(lambda update: update.drop(chosen), None, is_needed=bool(chosen))
        return chosen

    def documents(self) -> list[IndexedDocument]:
        """The documents, by name; those that an interrupted update left are not whole."""
        with self._read() as (passages, marks):
            return list_documents(passages, marks)

    def count(self) -> int:
        """How many passages there are."""
        with self._read() as (passages, _):
            return passages.count() if passages else 0

    def get(self, ids: Sequence[str]) -> list[Passage]:
        """The passages with these ids, in this order; unknown ids are left out."""
        with self._read() as (passages, _):
            found = fetch(passages, ids, "documents", "metadatas") if passages else {}
        return [_passage(key, *row) for key, row in found.items()]

    def document(self, name: str) -> list[Passage]:
        """The passages of a document, by its path or its source, in its order; none if unknown."""
        with self._read() as (passages, _):
            if passages is None:
                return []
            named = {"$or": [{"source": name}, {"document": name}]}
            got = passages.get(where=named)
        rows = zip(got["ids"], got["documents"], got["metadatas"], strict=True)
        found = [_passage(*row) for row in rows]
        return sorted(found, key=lambda one: (one.source, one.page or 0, one.start))

    def passages(self) -> Iterator[Passage]:
        """All passages."""
        with self._read() as (passages, _):
            got = passages.get() if passages else {"ids": [], "documents": [], "metadatas": []}
        return map(_passage, got["ids"], got["documents"], got["metadatas"])

    def retriever(self, kind: Kind | None = None) -> HybridRetriever:
        """A retriever over the index, of the kind in the settings if none is named."""
        return HybridRetriever(self, kind or self._retriever.kind)

    def dense(self, queries: Sequence[str], k: int) -> list[list[str]]:
        """For each query the ids of the k passages with the nearest vectors.

        Raises:
            SettingsError: The index has no vectors, or was opened without embeddings.
        """
        vectors = self._vectors(queries)
        with self._read() as (passages, _):
            if passages is None or not vectors:
                return [[] for _ in queries]
            found = self._store.nearest(passages, vectors, k, include=[])
        return [list(ids) for ids in found["ids"]]

    def lexical(self, queries: Sequence[str], k: int) -> list[list[str]]:
        """For each query the ids of the k best passages by BM25."""
        with self._read() as (passages, marks):
            if passages is None:
                return [[] for _ in queries]
            found = self._current_words(passages, marks).search(queries, k)
        return [[key for key, _ in some] for some in found]

    def candidates(self, queries: Sequence[str], depth: int) -> list[list[Candidate]]:
        """For each query the first `depth` passages of both searches, with both scores.

        Raises:
            SettingsError: The index has no vectors, or was opened without embeddings.
        """
        vectors, found = self._vectors(queries), []
        with self._read() as (passages, marks):
            if passages is None or not vectors:
                return [[] for _ in queries]
            words = self._current_words(passages, marks)
            near = self._store.nearest(passages, vectors, depth, include=["distances"])
            by_words = words.search(queries, depth)
            for row, (query, vector) in enumerate(zip(queries, vectors, strict=True)):
                scores = dict(by_words[row])
                cosines = {
                    key: 1 - float(distance)
                    for key, distance in zip(near["ids"][row], near["distances"][row], strict=True)
                }
                held = fetch(passages, list(scores.keys() - cosines.keys()), "embeddings")
                scores |= words.scores(query, cosines.keys() - scores.keys())
                is_unit = self._store.space == "cosine"
                cosines |= {key: _product(vector, other, is_unit) for key, (other,) in held.items()}
                found.append([Candidate(k, c, scores.get(k, 0.0)) for k, c in cosines.items()])
        return found

    def close(self) -> None:
        """Let go of the store."""
        for words in self._words.values():
            words.close()
        self._store.close()

    def _update(
        self, change: Callable[[Update], object], progress: Progress | None, *, is_needed: bool
    ) -> IndexReport:
        """Make one change of the index, whose turn this takes; for nothing nothing is made."""
        names, told = self._names, progress or (lambda step: None)
        with ExitStack() as held:
            if is_needed or self.count():
                turn = self._store.updating("updating the index", *names, rebuild=self._rebuild)
                names = held.enter_context(turn)
            embeddings, words = self._embeddings, self._current_words
            update = Update(
                self._store, names, embeddings, self._retriever, words, told, self._read_by
            )
            change(update)
            report = update.report()
        self._rebuild = False
        return report

    def _read(self) -> AbstractContextManager[list[Any]]:
        return self._store.reading(_TASK, *self._names)

    def _vectors(self, queries: Sequence[str]) -> list[list[float]]:
        """Of the queries; none if the index is empty, so that no model is loaded for it."""
        with self._read() as (passages, _):
            if passages is None or not passages.get(limit=1, include=[])["ids"]:
                return []
            embedder = passages.metadata["embedder"]
        if self._embeddings is None or embedder_name(self._embeddings) != embedder:
            raise SettingsError(
                "The index was made or opened without an embedding model",
                fix="Search it with the kind `bm25`, or give a model and build the index anew: "
                "citeproof index --rebuild PATH.",
            )
        return embed_queries(self._embeddings, queries)

    def _current_words(self, passages: Any, marks: Any) -> Words:
        """The words of all passages; what changed since they were last looked at is read first."""
        with self._lock:
            if passages.id not in self._words:
                folder = self._store.beside
                self._words[passages.id] = Words(folder and folder / f"{passages.id}.words")
            words, now = self._words[passages.id], str(passages.metadata.get("revision", 0))
            if words.note == now:
                return words
            paths = list(read_marks(marks, int(words.note or 0)))
            for place in range(0, len(paths), _DOCUMENTS_AT_ONCE):
                some = paths[place : place + _DOCUMENTS_AT_ONCE]
                got = passages.get(where={"document": {"$in": some}})
                rows = zip(got["ids"], got["documents"], got["metadatas"], strict=True)
                texts = ((key, d["document"], _passage(key, text, d)) for key, text, d in rows)
                words.change(some, [Row(key, of, searchable(one)) for key, of, one in texts])
            words.change([], (), now)
            return words


def _passage(key: str, text: str, data: Any) -> Passage:
    fields = {name: data[name] for name in ("title", "source", "location", "start", "end")}
    rows = json.loads(data.get("boxes", "[]"))
    boxes = tuple(Box.model_validate(dict(zip(Box.model_fields, row, strict=True))) for row in rows)
    return Passage(id=key, text=text, page=data["page"] or None, boxes=boxes, **fields)


def _product(one: Sequence[float], other: Any, is_unit: bool) -> float:
    """The inner product of two vectors, or their cosine: that of vectors of length 1."""
    import numpy as np

    a, b = np.asarray(one, np.float32), np.asarray(other, np.float32)
    length = float(np.linalg.norm(a) * np.linalg.norm(b)) if is_unit else 1.0
    return float(a @ b) / max(length, 1e-12)
