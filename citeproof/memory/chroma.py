"""Passages in Chroma, with an index of their words in SQLite."""

from __future__ import annotations

import copy
import hashlib
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, repeat
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from citeproof.memory.base import Change, Mark
from citeproof.memory.documents import GONE
from citeproof.memory.opening import open_store
from citeproof.memory.store import fetch
from citeproof.settings import ChromaSettings
from citeproof.tools.retrieval.embeddings import embedder_name, similarity_of
from citeproof.tools.retrieval.search_pool import Candidate, searchable
from citeproof.tools.retrieval.word_search import Row, Words
from citeproof.types import Box, Passage

_DOCUMENTS_AT_ONCE = 20
"""Documents whose passages are read at once."""


class ChromaPassages:
    """A `PassageStore` of two Chroma collections: the passages, and the marks of documents.

    The collection of passages counts its changes as a revision, and each mark has the revision of
    its document's last change. A copy of the words has a revision too, so bringing it up to date
    means reading only what changed since then.
    """

    needs_vectors = False

    def __init__(self, settings: ChromaSettings, embeddings: Embeddings | None) -> None:
        self._store = open_store(settings, "index")
        self._embedder = embedder_name(embeddings)
        self._store.space = "ip" if similarity_of(embeddings) == "inner_product" else "cosine"
        self._names: Sequence[str] = (settings.collection, f"{settings.collection}-documents")
        self._words: dict[Any, Words] = {}
        """The words of the last used collection, by its id; a rebuild creates a new collection."""
        self._lock = threading.Lock()

    @contextmanager
    def updating(self, *, rebuild: bool, rows: int = 0) -> Iterator[ChromaPassages]:
        """Hold the exclusive right to change the passages, and yield the store to write to."""
        written, task = copy.copy(self), "updating the index"
        with (
            self._store.updating(task, *self._names, rebuild=rebuild) as written._names,
            self._store.filling(task, written._embedders(self._embedder), rows),
        ):
            yield written

    def write(self, changes: Iterable[Change], embedder: str) -> None:
        """Write changes one by one; the marks tell readers which documents are complete."""
        task, embedders = "writing the index", self._embedders(embedder)
        for change in changes:
            with self._store.writing(task, embedders) as (own, marks):
                revision = int(own.metadata.get("revision", 0)) + 1
                self._mark(marks, change.begun, revision)
                found = _of_documents(own, change.emptied, [])
                held = (key for _, got in found for key in got["ids"])
                self._store.write(own, "delete", [key for key in held if key not in change.kept])
                self._store.write(
                    own,
                    "upsert",
                    [passage.id for _, passage in change.rows],
                    documents=[passage.text for _, passage in change.rows],
                    metadatas=[_metadata(*row) for row in change.rows],
                    embeddings=change.vectors,
                )
                if change.ended is not None:
                    self._mark(marks, change.ended, revision)
                    own.modify(metadata={**own.metadata, "revision": revision})
                    self._current_words(own, marks)

    def embedder(self) -> str | None:
        """Return the name of the vectors' model, "" for no model; None if there is no index."""
        with self._read() as (own, _):
            return str(own.metadata["embedder"]) if own else None

    def marks(
        self, names: list[str] | None = None, *, hashes: list[str] | None = None
    ) -> dict[str, Mark]:
        """Return the marks of existing documents: of all, or those with these names or hashes."""
        with self._read() as (_, marks):
            if marks and names is not None:
                found = fetch(marks, list(map(_key, names)), "documents", "metadatas").values()
                return {name: mark for name, mark in found if mark["hash"] != GONE}
            wanted = {"$ne": GONE} if hashes is None else {"$in": hashes}
            return _find_marks(marks, {"hash": wanted}) if marks else {}

    def held(self, ids: list[str]) -> dict[str, tuple[str, Passage]]:
        """Return passages by id in the given order, each with its document."""
        with self._read() as (own, _):
            found = fetch(own, ids, "documents", "metadatas") if own else {}
        return {
            key: (data["document"], _passage(key, text, data))
            for key, (text, data) in found.items()
        }

    def passages(
        self, document: str | None = None, *, with_vectors: bool = False
    ) -> Iterator[tuple[Passage, Any]]:
        """Yield all passages, or those of a document or a source, each with its vector or None."""
        where = {"$or": [{"source": document}, {"document": document}]} if document else None
        include = ["documents", "metadatas", *(["embeddings"] if with_vectors else [])]
        with self._read() as (own, _):
            if own is None:
                return
            got = own.get(where=where, include=include)
        vectors = got["embeddings"] if with_vectors else repeat(None)
        found = map(_passage, got["ids"], got["documents"], got["metadatas"])
        yield from zip(found, vectors, strict=with_vectors)

    def count(self, document: str | None = None) -> int:
        """Count all passages, or those of a document."""
        with self._read() as (own, _):
            if own is None or document is None:
                return own.count() if own else 0
            return len(own.get(where={"document": document}, include=[])["ids"])

    def candidates(
        self, queries: Sequence[str], vectors: Sequence[Any] | None, depth: int, *, words: bool
    ) -> list[list[Candidate]]:
        """Return for each query the top `depth` passages by vector and the top `depth` by words."""
        with self._read() as (own, marks):
            if own is None:
                return [[] for _ in queries]
            held = self._current_words(own, marks) if words else None
            scores = [dict(held.search(query, depth)) if held else {} for query in queries]
            if vectors is None:
                return [[Candidate(key, 0.0, bm25) for key, bm25 in one.items()] for one in scores]
            near = self._store.nearest(own, vectors, depth, include=["distances"])
            found = []
            for query, vector, ids, distances, score in zip(
                queries, vectors, near["ids"], near["distances"], scores, strict=True
            ):
                cosine = {key: 1 - float(d) for key, d in zip(ids, distances, strict=True)}
                if held:  # a passage just deleted has no cosine, and is left out
                    others = fetch(own, list(score.keys() - cosine.keys()), "embeddings")
                    score |= held.scores(query, cosine.keys() - score.keys())
                    cosine |= {key: self._cosine(vector, other) for key, (other,) in others.items()}
                found.append([Candidate(*one, score.get(one[0], 0.0)) for one in cosine.items()])
            return found

    def close(self) -> None:
        """Release the store."""
        for words in self._words.values():
            words.close()
        self._store.close()

    @contextmanager
    def _read(self) -> Iterator[list[Any]]:
        with self._store.reading("searching", *self._names) as found:
            # If only one exists, another process is just creating both.
            yield found if all(found) else [None, None]

    def _embedders(self, embedder: str) -> dict[str, str]:
        return dict(zip(self._names, (embedder, ""), strict=True))

    def _mark(self, marks: Any, new: Mapping[str, Mark], revision: int) -> None:
        data = [{**mark, "revision": revision} for mark in new.values()]
        ids = list(map(_key, new))
        self._store.write(
            marks, "upsert", ids, documents=list(new), metadatas=data, embeddings=None
        )

    def _cosine(self, one: Sequence[float], other: Any) -> float:
        """Compute the similarity as Chroma does: the cosine, or the inner product."""
        a, b = np.asarray(one, np.float32), np.asarray(other, np.float32)
        is_unit = self._store.space == "cosine"
        length = float(np.linalg.norm(a) * np.linalg.norm(b)) if is_unit else 1.0
        return float(a @ b) / max(length, 1e-12)

    def _current_words(self, own: Any, marks: Any) -> Words:
        """Return the words of all passages, after reading what changed since the last call."""
        with self._lock:
            if own.id not in self._words:
                self._words.clear()  # not closed: a search may be using them
                self._words[own.id] = Words(self._store.word_file(own))
            words, now = self._words[own.id], str(own.metadata.get("revision", 0))
            if words.note == now:
                return words
            if int(words.note or 0) > int(now):  # the passages were restored from a backup
                words.clear()
            changed = _find_marks(marks, {"revision": {"$gt": int(words.note or 0)}})
            for some, got in _of_documents(own, changed, ["documents", "metadatas"]):
                rows = zip(got["ids"], got["documents"], got["metadatas"], strict=True)
                new = [Row(k, d["document"], searchable(_passage(k, t, d))) for k, t, d in rows]
                words.change(some, new)
            words.change([], [], now)
            return words


def _key(document: str) -> str:
    return hashlib.sha256(document.encode()).hexdigest()[:32]


def _of_documents(
    own: Any, names: Iterable[str], include: list[str]
) -> Iterator[tuple[list[str], Any]]:
    """Yield some documents at a time, with what Chroma has of their passages."""
    left = iter(names)
    while some := list(islice(left, _DOCUMENTS_AT_ONCE)):
        yield some, own.get(where={"document": {"$in": some}}, include=include)


def _find_marks(marks: Any, where: Any) -> dict[str, Mark]:
    got = marks.get(where=where)
    return dict(zip(got["documents"], got["metadatas"], strict=True))


def _metadata(document: str, passage: Passage) -> dict[str, str | int]:
    fields = passage.model_dump(include={"title", "source", "location", "start", "end"})
    boxes = json.dumps([list(box.model_dump().values()) for box in passage.boxes])
    own = {"boxes": boxes} if passage.boxes else {}
    return {**fields, **own, "document": document, "page": passage.page or 0}


def _passage(key: str, text: str, data: Any) -> Passage:
    fields = {name: data[name] for name in ("title", "source", "location", "start", "end")}
    rows = json.loads(data.get("boxes", "[]"))
    boxes = tuple(Box.model_validate(dict(zip(Box.model_fields, row, strict=True))) for row in rows)
    return Passage(id=key, text=text, page=data["page"] or None, boxes=boxes, **fields)
