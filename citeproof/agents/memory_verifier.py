"""Second tier: checks whether the memory entails the claim (VTG, section 2.3).

If it does, the claim was correct and its citation wrong; if not, the claim may be made up. Unlike
in the paper, the memory is by default not a single premise: at most three of its passages must
prove the claim.
"""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.generation_verifier import GenerationVerifier
from citeproof.runtime.events import ClaimRejected, emit
from citeproof.state import DraftState, Update, memory_passages

__all__ = ["MemoryVerifier"]


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
