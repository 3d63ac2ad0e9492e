"""Finds passages for a query: by their words, by their vectors, or by both fused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Literal, Protocol, runtime_checkable

from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore

from citeproof.errors import CiteproofError, InputError, RetrievalError
from citeproof.tools.adapters import as_langchain, from_langchain
from citeproof.tools.passages import cut
from citeproof.tools.pool import Candidate, ListPool, Pool
from citeproof.tools.readers import Document, Part
from citeproof.tools.together import together
from citeproof.types import Passage

__all__ = [
    "DENSE_SHARE",
    "Candidate",
    "HybridRetriever",
    "Kind",
    "Pool",
    "Retriever",
    "as_langchain",
    "check_k",
    "coerce_retriever",
    "from_langchain",
    "from_passages",
    "from_texts",
    "fuse",
    "retrieve_many",
]

Kind = Literal["fused", "dense", "bm25"]

DENSE_SHARE = 0.6
"""What the cosine counts for in a fused score; the rest is BM25's.

Chosen on NQ and SQuAD questions other than those of `benchmarks/results/retrieval.md`. There
questions lean either on vectors (NQ) or on words (SQuAD), and fusing scores keeps more of the
better search than fusing ranks.
"""
_DEPTH = 5
"""Candidates that each search gives to the fusion, as a multiple of k."""
_LEAST_DEPTH = 50
_AT_ONCE = 8


@runtime_checkable
class Retriever(Protocol):
    """Whatever finds passages. Nodes know retrievers by this one method.

    A node counts one retrieval for each call; a retriever that searches more often than that
    reports the rest to the meter.
    """

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """At most `k` different passages, the best first; none for an empty query.

        Raises:
            RetrievalError: The search failed.
        """


class HybridRetriever:
    """Searches a pool; `kind` says how.

    Args:
        pool: What is searched, in a thread.
        kind: `dense` goes by vectors, `bm25` by words, `fused` by both.
        dense_share: What the vectors count for where both do, from 0 to 1.
    """

    def __init__(
        self, pool: Pool, kind: Kind = "fused", *, dense_share: float = DENSE_SHARE
    ) -> None:
        self.pool = pool
        self.kind = kind
        self.dense_share = dense_share

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """At most `k` passages, the best first; none for an empty query.

        Raises:
            InputError: `k` is less than 1.
            RetrievalError: The search failed.
        """
        return (await self.retrieve_many([query], k))[0]

    async def retrieve_many(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """`retrieve` for several queries, with one pass through the embedding model."""
        check_k(k)
        return await asyncio.to_thread(self._search, list(queries), k)

    def _search(self, queries: list[str], k: int) -> list[list[Passage]]:
        asked = list(dict.fromkeys(query.strip() for query in queries if query.strip()))
        try:
            ranked = dict(zip(asked, self._ranked(asked, k), strict=True)) if asked else {}
            return [self.pool.get(ranked.get(query.strip(), [])) for query in queries]
        except CiteproofError:
            raise
        except Exception as error:  # an embedding model or a pool of the caller's own
            raise RetrievalError("The search failed", why=f"{error}") from error

    def _ranked(self, queries: list[str], k: int) -> list[list[str]]:
        if self.kind == "dense":
            return self.pool.dense(queries, k)
        if self.kind == "bm25":
            return self.pool.lexical(queries, k)
        depth = max(_LEAST_DEPTH, _DEPTH * k)
        found = self.pool.candidates(queries, depth)
        return [fuse(candidates, self.dense_share)[:k] for candidates in found]


def fuse(candidates: Sequence[Candidate], dense_share: float = DENSE_SHARE) -> list[str]:
    """The ids of the candidates, the best first, by a weighted sum of both scores.

    Each score is brought to 0 to 1 first: the cosine between its least and its greatest value
    among the candidates, BM25 between 0 and its greatest (Bruch et al. 2023).
    """
    if not candidates:
        return []
    low = min(candidate.cosine for candidate in candidates)
    wide = max(candidate.cosine for candidate in candidates) - low
    high = max(candidate.bm25 for candidate in candidates)

    def score(candidate: Candidate) -> float:
        cosine = (candidate.cosine - low) / wide if wide > 0 else 0.0
        bm25 = candidate.bm25 / high if high > 0 else 0.0
        return dense_share * cosine + (1 - dense_share) * bm25

    return [candidate.id for candidate in sorted(candidates, key=score, reverse=True)]


def from_passages(
    passages: Sequence[Passage], embeddings: Embeddings | None = None
) -> HybridRetriever:
    """A retriever over passages held in memory; without embeddings it searches by words.

    Of several passages with one id the first counts. Nothing is indexed before the first query.
    """
    pool = ListPool(passages, embeddings)
    return HybridRetriever(pool, "bm25" if embeddings is None else "fused")


def from_texts(
    texts: Sequence[str], embeddings: Embeddings | None = None, *, passage_words: int = 100
) -> HybridRetriever:
    """A retriever over texts of any length, which are cut into passages first."""
    passages: list[Passage] = []
    for number, text in enumerate(texts, start=1):
        part = Part(text, 0, 0, len(text))
        passages += cut(Document(f"document {number}", "", (part,)), passage_words)
    return from_passages(passages, embeddings)


def coerce_retriever(source: object) -> Retriever:
    """A retriever from whatever can be one.

    Args:
        source: A `Retriever`, a LangChain retriever or vector store, an `Index`, or a
            sequence of passages or of texts.

    Raises:
        InputError: It is none of these.
    """
    if isinstance(source, Retriever):
        return source
    if isinstance(source, (BaseRetriever, VectorStore)):
        return from_langchain(source)
    if callable(make := getattr(source, "retriever", None)) and isinstance(
        made := make(), Retriever
    ):
        return made
    if isinstance(source, Sequence) and not isinstance(source, (str, bytes)):
        passages = [item for item in source if isinstance(item, Passage)]
        texts = [item for item in source if isinstance(item, str)]
        if len(passages) == len(source):
            return from_passages(passages)
        if len(texts) == len(source):
            return from_texts(texts)
    raise InputError(
        f"A {type(source).__name__} cannot be used as a retriever",
        fix="Pass an Index, a LangChain retriever, a list of passages or of texts, or an "
        "object with `async def retrieve(query, k)`.",
    )


async def retrieve_many(
    retriever: Retriever, queries: Sequence[str], k: int
) -> list[list[Passage]]:
    """At most `k` different passages for each query, at once where the retriever can do that."""
    if isinstance(retriever, HybridRetriever):
        return await retriever.retrieve_many(queries, k)
    jobs = [partial(retriever.retrieve, query, k) for query in queries]
    found = await together(jobs, _AT_ONCE)
    # Anyone's retriever may repeat a passage, or give more than it is asked for.
    return [list({passage.id: passage for passage in one}.values())[:k] for one in found]


def check_k(k: int) -> None:
    """Refuse a number of passages that makes no sense.

    Raises:
        InputError: `k` is less than 1.
    """
    if k < 1:
        raise InputError(f"{k} passages cannot be retrieved", fix="Ask for at least one.")
