"""Q ← q, D ← {}: starts a search for passages (LLatrieval, Algorithm 1, lines 1-2)."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import TypedDict  # pydantic refuses that of typing before 3.12

from citeproof.agents.retriever import asked
from citeproof.state import LLatrievalUpdate

__all__ = ["SearchOpener"]


class OpenerState(TypedDict):
    """What the opener reads."""

    question: str


@dataclass(frozen=True)
class SearchOpener:
    """Starts a run: checks the question, and clears all that an earlier run has left."""

    async def __call__(self, state: OpenerState) -> LLatrievalUpdate:
        """Make the question the first query.

        Raises:
            InputError: The question is empty.
        """
        return {
            "query": asked(state.get("question")),
            "passages": [],
            "long_term": [],
            "short_term": [],
            "waiting": [],
            "summaries": {},
            "rounds": [],
            "swaps": [],
            "claims": [],
            "stop": "",
        }
