"""Makes the current claim part of the answer (VTG, Algorithm 1, lines 13-15, 18-20, 22-23)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from citeproof.agents.base import Node
from citeproof.runtime.events import ClaimAccepted, ClaimRejected, emit
from citeproof.runtime.meter import note
from citeproof.state import Draft, DraftState, MemoryState, Update, number_passages
from citeproof.tools.citations.marks import cite
from citeproof.types import Claim, Verdict

__all__ = ["APPROVED", "ClaimAcceptor", "claim_of"]

APPROVED = "approved by a person"
"""The reason of an unsupported verdict whose claim stays nevertheless."""


class AcceptingState(DraftState):
    """The keys that the acceptor reads."""

    stop: str


@dataclass(frozen=True)
class ClaimAcceptor(Node):
    """Appends the claim with its citations, and adds the cited passages to the long-term memory."""

    unverified: Literal["keep", "flag", "drop"] = "flag"
    memory: bool = True
    """False keeps the long-term memory as first retrieved (ablation, Table 3)."""

    async def __call__(self, state: AcceptingState) -> Update:
        """Accept the draft; `unverified` decides whether to keep, flag or drop an unverified one.

        A person's decision takes precedence. As in the paper, only the passages of a
        supported claim enter the long-term memory. A draft without a verdict is unchecked, because
        `stop` says so or the verifier is off.
        """
        draft = state["draft"]
        if draft is None:
            return {}
        reason = state["stop"] or "the verifier is off"
        verdict = draft.verdict or Verdict(status="unchecked", reason=reason)
        if draft.decision == "approve":
            verdict = verdict.model_copy(update={"reason": APPROVED})
        claim = claim_of(state, draft, verdict)
        update: Update = {"draft": None, "rejected": []}
        if verdict.failed and (draft.decision or self.unverified) == "drop":
            emit(ClaimRejected(text=claim.text, reason="dropped: it could not be verified"))
            note(f"dropped, not verified: {claim.text}")
            return {**update, "dropped": [*state["dropped"], claim.text]}
        update["claims"] = [*state["claims"], claim]
        if verdict.status == "supported" and self.memory and "long_term" in state:
            long_term = dict.fromkeys([*state["long_term"], *draft.cited])
            update["long_term"] = list(long_term)
        emit(ClaimAccepted(claim=claim))
        return update


def claim_of(state: MemoryState, draft: Draft, verdict: Verdict) -> Claim:
    """The draft as a claim, whose citations have the run's passage numbers."""
    return Claim(
        text=draft.text,
        citations=cite(number_passages(state, draft.cited), draft.text),
        verdict=verdict,
        against=cite(number_passages(state, draft.against), draft.text),
    )
