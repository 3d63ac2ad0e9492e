"""Passages that can be searched by their words and by their vectors."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from langchain_core.embeddings import Embeddings

from citeproof.errors import InputError
from citeproof.tools.retrieval.embeddings import embed_queries, similarity_of
from citeproof.tools.retrieval.word_search import Row, Words
from citeproof.types import Passage


class Candidate(NamedTuple):
    """A passage that one of the searches found, as both of them score it."""

    id: str
    cosine: float
    """Or the inner product, where the embedding model's vectors are compared by that."""
    bm25: float


class Pool(Protocol):
    """Passages that can be searched both ways; all calls may block."""

    def candidates(self, queries: Sequence[str], depth: int) -> list[list[Candidate]]:
        """For each query the first `depth` passages of both searches, with both scores."""

    def dense(self, queries: Sequence[str], k: int) -> list[list[str]]:
        """For each query the ids of the k passages with the nearest vectors."""

    def lexical(self, queries: Sequence[str], k: int) -> list[list[str]]:
        """For each query the ids of the k best passages by BM25."""

    def get(self, ids: Sequence[str]) -> list[Passage]:
        """The passages in the order of their ids; those that are gone are left out."""


class ListPool:
    """Passages in memory. Enough for some thousands; an `Index` holds more."""

    def __init__(self, passages: Sequence[Passage], embeddings: Embeddings | None) -> None:
        self._passages: dict[str, Passage] = {}
        for passage in passages:
            self._passages.setdefault(passage.id, passage)
        self._embeddings = embeddings
        self._lock = threading.Lock()
        self._words: Words | None = None
        self._vectors: Any = None

    def candidates(self, queries: Sequence[str], depth: int) -> list[list[Candidate]]:
        """The first passages of both searches, with both scores."""
        cosines = self._cosines(queries)
        words = self._index()
        by_words = self.lexical(queries, depth)
        rows = {key: row for row, key in enumerate(self._passages)}
        by_vector = [_best(row, rows, depth) for row in cosines]
        ids = [list(dict.fromkeys([*a, *b])) for a, b in zip(by_vector, by_words, strict=True)]
        scores = [words.scores(query, some) for query, some in zip(queries, ids, strict=True)]
        return [
            [Candidate(key, float(cosine[rows[key]]), given.get(key, 0.0)) for key in some]
            for cosine, some, given in zip(cosines, ids, scores, strict=True)
        ]

    def dense(self, queries: Sequence[str], k: int) -> list[list[str]]:
        """The ids of the passages with the nearest vectors, by cosine."""
        return [_best(row, list(self._passages), k) for row in self._cosines(queries)]

    def lexical(self, queries: Sequence[str], k: int) -> list[list[str]]:
        """The ids of the best passages by BM25."""
        return [[key for key, _ in found] for found in self._index().search(queries, k)]

    def get(self, ids: Sequence[str]) -> list[Passage]:
        """The passages in the order of their ids."""
        return [self._passages[key] for key in ids if key in self._passages]

    def _index(self) -> Words:
        with self._lock:
            if self._words is None:
                self._words = Words()
                rows = (Row(p.id, p.id, searchable(p)) for p in self._passages.values())
                self._words.change((), rows)
            return self._words

    def _cosines(self, queries: Sequence[str]) -> Any:
        """A row for each query, with its cosine to every passage."""
        if self._embeddings is None:
            raise InputError("These passages have no vectors", fix="Give from_passages embeddings.")
        if not self._passages:
            return np.zeros((len(queries), 0))
        with self._lock:
            if self._vectors is None:
                texts = [searchable(passage) for passage in self._passages.values()]
                self._vectors = self._scale(self._embeddings.embed_documents(texts))
        return self._scale(embed_queries(self._embeddings, queries)) @ self._vectors.T

    def _scale(self, vectors: Sequence[Sequence[float]]) -> Any:
        rows = np.asarray(vectors, dtype=np.float32)
        if similarity_of(self._embeddings) == "inner_product":
            return rows
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _best(scores: Any, ids: Iterable[str], k: int) -> list[str]:
    names = list(ids)
    return [names[row] for row in np.argsort(-scores, kind="stable")[:k]]


def searchable(passage: Passage) -> str:
    """The text of a passage that is indexed, by its words and by its vector: title and text.

    Without the title both searches find less: for 900 NQ questions, BM25 has the right passage
    among the first five in 83 % of cases and not 72 %, and MiniLM in 95 % and not 85 %. For
    SQuAD it makes no difference.
    """
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text
