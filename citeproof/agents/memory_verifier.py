"""Second tier: does the memory entail the claim? (VTG, section 2.3).

If it does, the claim was right and its citation wrong; if not, the claim may be made up. Unlike
in the paper the memory is by default not one premise: at most three passages of it must prove the
claim.
"""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.errors import VerifierOutageError
from citeproof.runtime.events import ClaimRejected, ClaimVerified, emit
from citeproof.state import DraftState, Update, memory_passages
from citeproof.tools.entailment import (
    Entailment,
    Premise,
    find_support,
    unchecked,
    whole_support,
)

__all__ = ["MemoryVerifier"]


@dataclass(frozen=True)
class MemoryVerifier(Node):
    """Checks the claim in hand against D_L ∪ D_S."""

    entailment: Entailment
    max_trials: int = 2
    """T: what has failed more often than that is not taken back, but accepted unverified."""
    premise: Premise = "fewest"

    async def __call__(self, state: DraftState) -> Update:
        """Give the draft a verdict: a supported one cites what proves it, a failed one is rejected.

        An empty memory, as that of a draft which cites nothing, supports nothing. The draft stays
        unchecked where the entailment model's server does not answer.
        """
        draft = state["draft"]
        if draft is None:
            return {}
        memory = memory_passages(state)
        find = whole_support if self.premise == "whole" else find_support
        trials = len(state["rejected"]) + 1
        try:
            support = await find(self.entailment, state["question"], memory, draft.text)
        except VerifierOutageError as error:
            verdict = unchecked(error, trials)
            emit(ClaimVerified(text=draft.text, verdict=verdict))
            return {"draft": draft.model_copy(update={"verdict": verdict})}
        verdict = support.verdict("memory", trials)
        emit(ClaimVerified(text=draft.text, verdict=verdict))
        changes = {"verdict": verdict, "against": support.opposing}
        if support.holds:
            cited = tuple(passage.id for passage in support.passages.values())
            return {"draft": draft.model_copy(update={**changes, "cited": cited})}
        if len(state["rejected"]) <= self.max_trials:
            reason = "neither its citations nor the memory entail it"
            emit(ClaimRejected(text=draft.text, reason=reason))
        return {
            "draft": draft.model_copy(update=changes),
            "rejected": [*state["rejected"], draft.text],
        }
