"""Finds passages for a query by their words, by their vectors, or by both."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from citeproof.errors import CiteproofError, ModelOutageError, RetrievalError, StoreError
from citeproof.runtime.meter import note
from citeproof.tools.retrieval.base import check_k
from citeproof.tools.retrieval.search_pool import Candidate, Kind, Pool
from citeproof.types import Passage

DENSE_SHARE = 0.6
"""The weight of the cosine in a fused score; the rest is BM25's.

Chosen on NQ and SQuAD questions other than those of `benchmarks/results/retrieval.md`. NQ
questions favour vectors and SQuAD questions words, and fusing scores keeps more of the better
search than fusing ranks.
"""
BY_WORDS = "searched by words alone"
"""Beginning of the note if a fused search had no vectors."""
_DEPTH = 5
"""Candidates of each search in a fusion, as a multiple of k."""
_LEAST_DEPTH = 100
"""Fewest candidates, so that a search for 5 passages finds the first 5 of a search for 20."""
_SPARE = 2
"""Passages to read, as a multiple of k, so that k are left without copies."""
_LEAST_COPY = 150
"""Fewest characters of a passage that counts as a copy. "Not available." may stand below many
headings."""


class HybridRetriever:
    """Searches a pool by words, by vectors, or by both.

    Args:
        pool: The passages to search, in a thread.
        kind: `dense` searches by vectors, `bm25` by words, `fused` by both. If the embedder's
            server does not answer, `fused` falls back to words, with a note.
        dense_share: The weight of the vectors in a fused search, from 0 to 1.
    """

    def __init__(
        self, pool: Pool, kind: Kind = "fused", *, dense_share: float = DENSE_SHARE
    ) -> None:
        self.pool = pool
        self.kind = kind
        self.dense_share = dense_share

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return at most `k` passages, the best first; none for an empty query."""
        return (await self.retrieve_many([query], k))[0]

    async def retrieve_many(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Run `retrieve` for several queries, with one pass through the embedding model."""
        check_k(k)
        return await asyncio.to_thread(self._search, list(queries), k)

    def _search(self, queries: list[str], k: int) -> list[list[Passage]]:
        asked = list(dict.fromkeys(query.strip() for query in queries if query.strip()))
        try:
            ranked = dict(zip(asked, self._rank(asked, k), strict=True)) if asked else {}
            found = [self.pool.get(ranked.get(query.strip(), [])) for query in queries]
        except StoreError as error:
            raise RetrievalError(error.what, why=error.why, fix=error.fix) from error
        except CiteproofError:
            raise
        except Exception as error:  # from an embedding model or pool of the caller's
            raise RetrievalError("The search failed", why=f"{error}") from error
        return [drop_copies(passages)[:k] for passages in found]

    def _rank(self, queries: list[str], k: int) -> list[list[str]]:
        share = {"dense": 1.0, "bm25": 0.0}.get(self.kind, self.dense_share)
        most = _SPARE * k
        depth = max(_LEAST_DEPTH, _DEPTH * k) if self.kind == "fused" else most
        try:
            found = self.pool.candidates(queries, depth, self.kind)
        except ModelOutageError as error:  # from the embedder's server
            if self.kind != "fused":
                raise
            note(f"{BY_WORDS}: {error}")
            found, share = self.pool.candidates(queries, most, "bm25"), 0.0
        return [fuse(candidates, share)[:most] for candidates in found]


def drop_copies(passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages without those that say the same as an earlier one below the same heading.

    Folders hold documents twice, in two versions or as parts of others: of 12,665 passages of six
    manuals and three handbooks, 206 are copies, which would be shown, read and cited twice.
    """
    kept: dict[object, Passage] = {}
    for one in passages:
        said = one.title.rpartition(" – ")[2], " ".join(one.text.split())
        kept.setdefault(said if len(said[1]) >= _LEAST_COPY else one.id, one)
    return list(kept.values())


def fuse(candidates: Sequence[Candidate], dense_share: float = DENSE_SHARE) -> list[str]:
    """Return the ids of the candidates, the best first, by a weighted sum of both scores.

    Both scores are first scaled to 0 to 1: the cosine between its lowest and highest value among
    the candidates, BM25 between 0 and its highest (Bruch et al. 2023).
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
