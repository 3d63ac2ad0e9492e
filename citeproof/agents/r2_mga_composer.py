"""Ends a run of R²-MGA with an `Answer`, and records what it cites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from citeproof.agents.answer_composer import AnswerComposer, ComposerState
from citeproof.memory.evidence import EvidenceLog
from citeproof.state import R2MGAUpdate
from citeproof.tools.events import ClaimAccepted, ClaimRejected, emit

__all__ = ["R2MGAComposer"]


@dataclass(frozen=True)
class R2MGAComposer:
    """Composes the answer with the verdicts of the entailment model, where it was asked."""

    evidence: EvidenceLog | None = None
    """Where cited passages are recorded for later."""
    unverified: Literal["keep", "flag", "drop"] = "flag"
    """What becomes of claims that the entailment model does not find supported."""
    method: str = "r2-mga"

    async def __call__(self, state: ComposerState) -> R2MGAUpdate:
        """Compose the answer; claims that nobody has checked are all kept, and it says so."""
        accepted, dropped = [], []
        for claim in state["claims"]:
            if claim.verdict.status == "unsupported" and self.unverified == "drop":
                emit(ClaimRejected(text=claim.text, reason="dropped: it could not be verified"))
                dropped.append(claim.text)
            else:
                emit(ClaimAccepted(claim=claim))
                accepted.append(claim)
        ending: ComposerState = {**state, "claims": accepted, "dropped": dropped}
        is_checked = any(claim.verdict.status != "unchecked" for claim in state["claims"])
        unverified = self.unverified if is_checked else "keep"
        composer = AnswerComposer(self.method, unverified, self.evidence)
        return {"answer": (await composer(ending))["answer"]}
