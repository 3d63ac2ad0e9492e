"""First tier: do the cited passages entail the claim? (VTG, section 2.3)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.errors import VerifierOutageError
from citeproof.runtime.events import ClaimVerified, emit
from citeproof.state import DraftState, Update, number_passages
from citeproof.tools.entailment import (
    Entailment,
    Premise,
    find_support,
    unchecked,
    whole_support,
)

__all__ = ["GenerationVerifier"]


@dataclass(frozen=True)
class GenerationVerifier(Node):
    """Checks the claim in hand against the passages it cites."""

    entailment: Entailment
    premise: Premise = "fewest"

    async def __call__(self, state: DraftState) -> Update:
        """Give the draft a verdict; a claim that cites nothing is unsupported.

        It stays unchecked where the entailment model's server does not answer.
        """
        draft = state["draft"]
        if draft is None:
            return {}
        cited = number_passages(state, draft.cited)
        trials = len(state["rejected"]) + 1
        against: tuple[str, ...] = ()
        try:
            if self.premise == "whole":
                support = await whole_support(self.entailment, state["question"], cited, draft.text)
            else:
                support = await find_support(
                    self.entailment, state["question"], cited, draft.text, fewest=False
                )
        except VerifierOutageError as error:
            verdict = unchecked(error, trials)
        else:
            verdict, against = support.verdict("cited", trials), support.opposing
        emit(ClaimVerified(text=draft.text, verdict=verdict))
        return {"draft": draft.model_copy(update={"verdict": verdict, "against": against})}
