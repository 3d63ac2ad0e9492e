"""Reranks the results of a search with a model that reads query and passage together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from citeproof.errors import ModelError
from citeproof.tools.entailment import Pair
from citeproof.tools.entailment.cross_encoder import CrossEncoder
from citeproof.tools.retrieval import Retriever, check_k
from citeproof.types import Passage

__all__ = ["CrossEncoderReranker", "PairScorer"]


class PairScorer(Protocol):
    """Scores how well two texts go together."""

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return a score for each pair, in order."""


class CrossEncoderReranker:
    """A retriever that reranks the candidates of another one, as monoBERT does.

    Args:
        source: Finds the candidates.
        model: A sentence-transformers cross-encoder with one output, by hub name or folder, such
            as `BAAI/bge-reranker-base`; or a scorer, which gets the query as the premise and the
            passage as the hypothesis.
        candidates: Number of passages that are found and read for a query.
    """

    def __init__(self, source: Retriever, model: str | PairScorer, *, candidates: int = 50) -> None:
        self.source = source
        self.scorer: PairScorer = CrossEncoder(model) if isinstance(model, str) else model
        self.candidates = candidates

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return at most `k` passages, the best first; ties stay in their order."""
        check_k(k)
        found = await self.source.retrieve(query, max(self.candidates, k))
        if not found:
            return []
        try:
            scores = await self.scorer.scores([Pair(query, passage.premise) for passage in found])
        except ModelError as error:
            raise ModelError(
                "The passages cannot be reranked",
                why=f"{error.what}: {error.why}",
                fix="Name a sentence-transformers cross-encoder of the hub, or its folder.",
            ) from error
        order = sorted(range(len(found)), key=lambda place: -scores[place])
        return [found[place] for place in order[:k]]
