"""Refines an answer that was proved: what comes of it is a draft, to be proved anew."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import LLMNode
from citeproof.agents.refiner import Execution, Refiner
from citeproof.state import RefiningState, Update
from citeproof.tools.citations.answer_text import written_out

__all__ = ["DraftRefiner"]


@dataclass(frozen=True)
class DraftRefiner(LLMNode):
    """The refiner of R²-MGA before the verifiers of VTG."""

    execution: Execution = "one-time"
    answer_tokens: int = 300
    """Longest answer, in tokens."""
    max_claims: int = 6
    """Sentences, at most; those beyond are left out of the refinement."""

    @property
    def prompt_name(self) -> str:
        """The refiner's."""
        return "refiner"

    async def __call__(self, state: RefiningState) -> Update:
        """Hand in the refined claims, and keep those that are there beside them.

        A refinement that changes nothing hands in none.
        """
        refine = Refiner(self.llm, self.execution, self.answer_tokens, prompts=self.prompts)
        given = (await refine(state))["claims"][: self.max_claims]
        if written_out(given, "prose") == written_out(state["claims"], "prose"):
            return {}
        return {
            "first": state["claims"],
            "first_dropped": state["dropped"],
            "given": given,
            "claims": [],
            "rejected": [],
            "dropped": [],
        }
