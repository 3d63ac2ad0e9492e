"""Trims the citations to the necessary ones (VTG, section 2.3, Citation Simplifier)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.errors import BudgetExceededError, VerifierOutageError
from citeproof.runtime.meter import note
from citeproof.state import Draft, DraftState, Update, number_passages, text_so_far
from citeproof.tools.entailment import Entailment, Premise, Support, find_support, trimmed_support
from citeproof.types import Passage

__all__ = ["Simplifier"]


@dataclass(frozen=True)
class Simplifier(Node):
    """Drops every citation that the others do not need to entail the claim."""

    entailment: Entailment
    premise: Premise = "fewest"

    async def __call__(self, state: DraftState) -> Update:
        """Reduce the draft's citations to a set from which none can be left out.

        The verdict takes the score of the remaining passages. If a judge would exceed the budget,
        or a server does not answer, the citations stay, since the claim is already proved.
        """
        draft = state["draft"]
        if draft is None or len(draft.cited) < 2:
            return {}
        cited = number_passages(state, draft.cited)
        try:
            # The verifiers have scored the same sets, so a cache answers.
            support = await self._support(state, cited, draft)
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

    async def _support(self, state: DraftState, cited: dict[int, Passage], draft: Draft) -> Support:
        asked = self.entailment, state["question"], cited, draft.text
        if self.premise == "fewest":
            return await find_support(*asked, before=text_so_far(state))
        score = draft.verdict.score if draft.verdict else None
        return await trimmed_support(*asked, score or 0.0)
