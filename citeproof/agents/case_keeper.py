"""Keeps the finished case in the memory bank, if it may serve as an example (R²-MGA, update)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from citeproof.agents.claims_keeper import share
from citeproof.agents.form_answerer import written_out
from citeproof.errors import ModelError, StoreError
from citeproof.memory.bank import Bank, Case
from citeproof.state import R2MGAUpdate, ReflectionState
from citeproof.tools.meter import note
from citeproof.tools.nested import drafting

__all__ = ["CaseKeeper", "Gate", "added"]

Gate = Literal["llm", "nli", "both"]
"""Who must find a final answer right before its case is kept: the language model's assessment (the
paper), the entailment model, or both."""


@dataclass(frozen=True)
class CaseKeeper:
    """Writes the three new snippets, unless the final answer was found wanting.

    Inside the run of another graph, which has an answer of its own, nothing is kept.
    """

    bank: Bank | None = None
    namespace: str = ""
    """Part of the bank that the case is added to; empty for the bank's own."""
    gate: Gate = "both"
    least_score: float = 1.0
    """The least share of supported claims at which the entailment model agrees."""
    unverified: Literal["keep", "flag", "drop"] = "flag"
    """What becomes of claims that are not supported: dropped ones are no part of the case."""
    remember: bool = True
    """False leaves the bank as it is."""
    method: str = "r2-mga"

    async def __call__(self, state: ReflectionState) -> R2MGAUpdate:
        """Add the case if it passes the gate, and set its id.

        The case has the first round's answer, feedback and actions, and the final answer; actions
        that led to no other answer than the first are no example, and are left out. Without
        feedback there is none. A bank or an embedding model that fails costs the case, not the
        answer.
        """
        rounds = state["rounds"]
        if self.bank is None or not (self.remember and rounds and rounds[0].feedback):
            return {}
        score = None if self.gate == "llm" else share(state["claims"], state["dropped"])
        if not self._passes(state, score):
            return {}
        shown = [
            claim
            for claim in state["claims"]
            if self.unverified != "drop" or claim.verdict.status != "unsupported"
        ]
        first, final = rounds[0], written_out(shown, "prose")
        case = Case(
            question=state["question"],
            passages=tuple(state["passages"]),
            answer=first.answer,
            feedback=first.feedback,
            actions=first.actions if final != first.answer else (),
            final=final,
            method=self.method,
            score=score,
        )
        return {"case_id": await added(self.bank, self.namespace, case)}

    def _passes(self, state: ReflectionState, score: float | None) -> bool:
        if score is not None and score < self.least_score:
            return False
        last = state["rounds"][-1]
        if last.answer == written_out(state["claims"], "prose"):
            # Whoever has the last word: feedback that finds fault with what is kept as right
            # would teach the next assessment to do so.
            return last.correct and last.cited
        # An assessment of the answer before it says nothing of the final one.
        return self.gate == "nli"


async def added(bank: Bank, namespace: str, case: Case) -> str:
    """The id of the case once it is in the bank.

    Empty where this run only drafts for another, and, with a note, where the bank fails.
    """
    if drafting():
        return ""
    try:
        return await (bank.within(namespace) if namespace else bank).add(case)
    except (ModelError, StoreError) as error:
        note(f"the case was not kept in the memory bank: {error}")
        return ""
