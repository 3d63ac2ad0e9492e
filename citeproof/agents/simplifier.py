"""Trims the citations to what is needed (VTG, section 2.3, Citation Simplifier)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.state import DraftState, VTGUpdate, numbered
from citeproof.tools.entailment import Entailment, pair
from citeproof.types import Passage

__all__ = ["Simplifier"]


@dataclass(frozen=True)
class Simplifier:
    """Drops every citation without which the others still entail the claim."""

    entailment: Entailment

    async def __call__(self, state: DraftState) -> VTGUpdate:
        """Reduce the draft's citations to a set from which none can be left out."""
        draft = state["draft"]
        if draft is None or len(draft.cited) < 2:
            return {}
        kept = await self.smallest(state["question"], numbered(state, draft.cited), draft.text)
        ids = tuple(passage.id for passage in kept.values())
        return {"draft": draft.model_copy(update={"cited": ids})}

    async def smallest(
        self, question: str, passages: dict[int, Passage], claim: str
    ) -> dict[int, Passage]:
        """A subset that entails the claim and of which no passage can be left out.

        Single passages are tried first, in one batch: if any entails the claim, the one with
        the highest score is the answer. Otherwise passages are left out one by one, in order
        of their numbers, as in the paper; the checks of one pass are one batch.
        """
        singles = [{number: passage} for number, passage in passages.items()]
        scores = await self._scores(question, singles, claim)
        best = max(range(len(singles)), key=lambda i: scores[i])
        if scores[best] >= self.entailment.threshold:
            return singles[best]
        kept, first = passages, 0
        while len(kept) > 2:
            rests = [
                {n: p for n, p in kept.items() if n != left_out} for left_out in list(kept)[first:]
            ]
            scores = await self._scores(question, rests, claim)
            droppable = [i for i, score in enumerate(scores) if score >= self.entailment.threshold]
            if not droppable:
                break
            kept, first = rests[droppable[0]], first + droppable[0]
        return kept

    async def _scores(
        self, question: str, subsets: list[dict[int, Passage]], claim: str
    ) -> list[float]:
        if not subsets:
            return []
        return await self.entailment.scores([pair(question, subset, claim) for subset in subsets])
