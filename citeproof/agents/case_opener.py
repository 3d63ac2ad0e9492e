"""Finds D for the question, and starts a case from nothing (R²-MGA, Task Formalization)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.retriever import Retriever, RetrieverState
from citeproof.state import R2MGAUpdate
from citeproof.tools.retrieval import Retriever as Source

__all__ = ["CaseOpener"]


@dataclass(frozen=True)
class CaseOpener:
    """Starts a run of R²-MGA: all passages that are found are its memory, from first to last."""

    retriever: Source | None
    k: int = 5
    ranked: bool = False
    """Whether documents that come with a question are taken in their order, and not searched."""

    async def __call__(self, state: RetrieverState) -> R2MGAUpdate:
        """Fetch the passages and clear all that an earlier run on the thread left.

        Raises:
            InputError: The question is empty, or a document is of no use.
            RetrievalError: The retriever failed.
        """
        found = await Retriever(self.retriever, self.k, self.ranked)(state)
        return {
            "passages": found["passages"],
            "long_term": found["long_term"],
            "short_term": [],
            "claims": [],
            "rejected": [],
            "dropped": [],
            "demonstration": "",
            "rounds": [],
            "case_id": "",
            "stop": "",
        }
