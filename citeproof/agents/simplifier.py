"""Trims the citations to what is needed (VTG, section 2.3, Citation Simplifier)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.errors import BudgetExceededError, VerifierOutageError
from citeproof.runtime.meter import note
from citeproof.state import Draft, DraftState, Update, number_passages
from citeproof.tools.entailment import Entailment, Premise, Support, find_support, trimmed_support
from citeproof.types import Passage

__all__ = ["Simplifier"]


@dataclass(frozen=True)
class Simplifier(Node):
    """Drops every citation without which the others still entail the claim."""

    entailment: Entailment
    premise: Premise = "fewest"

    async def __call__(self, state: DraftState) -> Update:
        """Reduce the draft's citations to a set from which none can be left out.

        The verdict's score becomes that of the passages that are left. Where a judge would
        exceed the budget, or a server does not answer, the citations stay: the claim is proved.
        """
        draft = state["draft"]
        if draft is None or len(draft.cited) < 2:
            return {}
        cited = number_passages(state, draft.cited)
        try:
            # The verifiers have asked about the same sets: a cache answers.
            support = await self._support(state["question"], cited, draft)
        except (BudgetExceededError, VerifierOutageError) as error:
            note(f"citations were not trimmed: {error}")
            return {}
        if not support.holds:
            return {}
        verdict = draft.verdict
        if verdict is not None:
            verdict = verdict.model_copy(update={"score": support.score})
        ids = tuple(passage.id for passage in support.passages.values())
        return {"draft": draft.model_copy(update={"cited": ids, "verdict": verdict})}

    async def _support(self, question: str, cited: dict[int, Passage], draft: Draft) -> Support:
        if self.premise == "fewest":
            return await find_support(self.entailment, question, cited, draft.text)
        score = draft.verdict.score if draft.verdict else None
        return await trimmed_support(self.entailment, question, cited, draft.text, score or 0.0)
