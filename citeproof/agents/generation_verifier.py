"""Proves the current claim (VTG, section 2.3).

`GenerationVerifier`, the first tier, checks whether the cited passages entail the claim,
`MemoryVerifier`, the second, whether the memory does. If it does, the claim was correct and its
citation wrong; if not, the claim may be made up. Unlike in the paper, the memory is by default not
a single premise: at most three of its passages must prove the claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from citeproof.agents.base import Node
from citeproof.errors import VerifierOutageError
from citeproof.runtime.events import ClaimRejected, ClaimVerified, emit
from citeproof.state import Draft, DraftState, Update, memory_passages, number_passages, text_so_far
from citeproof.tools.entailment import (
    Entailment,
    Premise,
    Support,
    find_support,
    unchecked,
    whole_support,
)
from citeproof.types import Passage

__all__ = ["GenerationVerifier", "MemoryVerifier"]


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


@dataclass(frozen=True)
class MemoryVerifier(GenerationVerifier):
    """Checks the current claim against D_L ∪ D_S."""

    max_trials: int = 0
    """T: a claim that has already failed more often is accepted unverified instead of rejected."""

    async def __call__(self, state: DraftState) -> Update:
        """Give the draft a verdict: a supported draft cites its proof, a failed one is rejected.

        A failed draft cites the passage that comes nearest to a proof, for readers to look at. If
        the passages were only read together, it keeps its citations. An empty memory supports
        nothing, like a draft without citations. If the entailment model's server does not answer,
        the draft stays unchecked.
        """
        draft = state["draft"]
        if draft is None:
            return {}
        checked, support = await self.verify(state, draft, memory_passages(state), "memory")
        if support is None:
            return {"draft": checked}
        has_nearest = self.premise == "fewest" and len(support.passages) == 1
        if support.holds or has_nearest:
            cited = tuple(passage.id for passage in support.passages.values())
            checked = checked.model_copy(update={"cited": cited})
        if support.holds:
            return {"draft": checked}
        if len(state["rejected"]) <= self.max_trials:
            reason = "neither its citations nor the memory entail it"
            emit(ClaimRejected(text=draft.text, reason=reason))
        return {"draft": checked, "rejected": [*state["rejected"], draft.text]}
