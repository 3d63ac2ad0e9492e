"""First tier: checks whether the cited passages entail the claim (VTG, section 2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from citeproof.agents.base import Node
from citeproof.errors import VerifierOutageError
from citeproof.runtime.events import ClaimVerified, emit
from citeproof.state import Draft, DraftState, Update, number_passages, text_so_far
from citeproof.tools.entailment import (
    Entailment,
    Premise,
    Support,
    find_support,
    unchecked,
    whole_support,
)
from citeproof.types import Passage

__all__ = ["GenerationVerifier"]


@dataclass(frozen=True)
class GenerationVerifier(Node):
    """Checks the current claim against the passages it cites."""

    entailment: Entailment
    premise: Premise = "fewest"

    async def __call__(self, state: DraftState) -> Update:
        """Give the draft a verdict; a claim without citations is unsupported.

        If the entailment model's server does not answer, the draft stays unchecked.
        """
        draft = state["draft"]
        if draft is None:
            return {}
        cited = number_passages(state, draft.cited)
        checked, _ = await self.verify(state, draft, cited, "cited")
        return {"draft": checked}

    async def verify(
        self,
        state: DraftState,
        draft: Draft,
        passages: Mapping[int, Passage],
        tier: Literal["cited", "memory"],
    ) -> tuple[Draft, Support | None]:
        """The draft with a verdict, and the support found for it.

        If the entailment model's server does not answer, there is no support, and the draft stays
        unchecked.
        """
        trials, asked = len(state["rejected"]) + 1, (self.entailment, state["question"], passages)
        support: Support | None
        try:
            if self.premise == "whole":
                support = await whole_support(*asked, draft.text)
            else:
                support = await find_support(
                    *asked, draft.text, fewest=tier == "memory", before=text_so_far(state)
                )
        except VerifierOutageError as error:
            verdict, against, support = unchecked(error, trials), draft.against, None
        else:
            verdict, against = support.verdict(tier, trials), support.opposing
        emit(ClaimVerified(text=draft.text, verdict=verdict))
        return draft.model_copy(update={"verdict": verdict, "against": against}), support
