"""Lets another graph write the answer that is then proved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from citeproof.agents.retriever import RetrieverState, asked
from citeproof.state import GivenUpdate, append_new
from citeproof.tools.meter import note
from citeproof.tools.nested import nested
from citeproof.types import Answer

__all__ = ["Drafter"]


@dataclass(frozen=True)
class Drafter:
    """Starts a run from the answer of a graph: its claims are drafts, its passages the memory."""

    graph: Any
    """A graph from a `Question` to a `Result`."""

    async def __call__(self, state: RetrieverState) -> GivenUpdate:
        """Ask the graph, and clear all that an earlier run on the thread left.

        Raises:
            InputError: The question is empty, or the graph gives no answer.
        """
        asked(state.get("question"))
        answer: Answer = (await nested(self.graph, state))["answer"]
        if answer.claims and answer.reason:
            # Only part of it may hold once the claims are proved, such as that a budget was spent.
            note(f"the draft was {answer.status}: {answer.reason}")
        # Anyone's graph may repeat a passage, which then would bear two numbers.
        passages = append_new([], list(answer.passages))
        return {
            "passages": passages,
            "long_term": [passage.id for passage in passages],
            "short_term": [],
            "claims": [],
            "given": list(answer.claims),
            "rejected": [],
            "dropped": [],
            "draft": None,
            "stop": "" if answer.claims else answer.reason,
        }
