"""Passages that can be searched by their words and by their vectors."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from langchain_core.embeddings import Embeddings

from citeproof.errors import InputError
from citeproof.tools.retrieval.embeddings import embed_queries, similarity_of
from citeproof.tools.retrieval.word_search import Row, Words
from citeproof.types import Passage

Kind = Literal["fused", "dense", "bm25"]
"""How passages are searched: by vectors and words, by vectors, or by words."""


class Candidate(NamedTuple):
    """A passage that one of the searches found, with the scores of both."""

    id: str
    cosine: float
    """Or the inner product, if the embedding model's vectors are compared by that."""
    bm25: float


class Pool(Protocol):
    """Passages that can be searched both ways; all calls may block."""

    def candidates(
        self, queries: Sequence[str], depth: int, kind: Kind = "fused"
    ) -> list[list[Candidate]]:
        """Return, for each query, the first `depth` passages of each search that `kind` names.

        A fused search runs both, and returns both scores of each passage. For a single search, the
        best passages come first, and the score of the other search is 0.
        """

    def get(self, ids: Sequence[str]) -> list[Passage]:
        """Return the passages in the order of the ids; those that are gone are left out."""


class ListPool:
    """Passages in memory, for up to some thousands; an `Index` holds more."""

    def __init__(self, passages: Sequence[Passage], embeddings: Embeddings | None) -> None:
        self._passages: dict[str, Passage] = {}
        for passage in passages:
            self._passages.setdefault(passage.id, passage)
        self._embeddings = embeddings
        self._lock = threading.Lock()
        self._words: Words | None = None
        self._vectors: Any = None

    def candidates(
        self, queries: Sequence[str], depth: int, kind: Kind = "fused"
    ) -> list[list[Candidate]]:
        """Return the first passages of each search; see `Pool`."""
        names = list(self._passages)
        cosines = [None] * len(queries) if kind == "bm25" else self._cosines(queries)
        found = []
        for query, row in zip(queries, cosines, strict=True):
            near = {} if row is None else dict(zip(names, map(float, row), strict=True))
            best = sorted(near, key=near.__getitem__, reverse=True)[:depth]
            scores = {} if kind == "dense" else dict(self._index().search(query, depth))
            if kind == "fused":
                scores |= self._index().scores(query, best)
            keys = dict.fromkeys([*best, *scores])
            found.append([Candidate(k, near.get(k, 0.0), scores.get(k, 0.0)) for k in keys])
        return found

    def get(self, ids: Sequence[str]) -> list[Passage]:
        """Return the passages in the order of the ids."""
        return [self._passages[key] for key in ids if key in self._passages]

    def _index(self) -> Words:
        with self._lock:
            if self._words is None:
                self._words = Words()
                rows = (Row(p.id, p.id, searchable(p)) for p in self._passages.values())
                self._words.change((), rows)
            return self._words

    def _cosines(self, queries: Sequence[str]) -> Any:
        """Return a row for each query, with its cosine to every passage."""
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


def searchable(passage: Passage) -> str:
    """Return the text that is indexed of a passage, by words and by vector: title and text.

    Without the title both searches find less. On 900 NQ questions, the title raises the share with
    the right passage among the first five from 72% to 83% for BM25, and from 85% to 95% for MiniLM.
    On SQuAD it makes no difference.
    """
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text
