"""Finds the ranked pool p for the question, and shows its top k (CaLM, section 4, steps 1-2)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.retriever import Retriever, RetrieverState
from citeproof.state import CaLMUpdate
from citeproof.tools.retrieval import Retriever as Source

__all__ = ["PoolRetriever"]


@dataclass(frozen=True)
class PoolRetriever:
    """Starts a run of CaLM: a passage's number is its rank in the pool."""

    retriever: Source | None
    pool: int = 100
    """Most passages of p."""
    k: int = 5
    """Passages that the main LM reads at a time."""
    ranked: bool = False
    """Whether documents that come with a question are the pool, in their order."""

    async def __call__(self, state: RetrieverState) -> CaLMUpdate:
        """Fetch the pool and clear all that an earlier run on the thread left.

        Raises:
            InputError: The question is empty, or a document is of no use.
            RetrievalError: The retriever failed.
        """
        # A pool smaller than what is read at a time would never fill it.
        most = max(self.pool, self.k)
        found = await Retriever(self.retriever, most, self.ranked)(state)
        first = found["long_term"][: self.k]
        return {
            "passages": found["passages"],
            "long_term": [],
            "short_term": first,
            "shown": len(first),
            "claims": [],
            "rejected": [],
            "dropped": [],
            "verifier_claims": [],
            "kept": [],
            "rounds": [],
            "stop": "",
        }
