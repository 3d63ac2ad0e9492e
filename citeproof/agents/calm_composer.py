"""Ends a run of CaLM with an `Answer`: what the main LM wrote last, and whether it is agreed."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.answer_composer import AnswerComposer, ComposerState
from citeproof.agents.answerer import UNCHECKED
from citeproof.agents.form_answerer import Form, written_out
from citeproof.memory.evidence import EvidenceLog
from citeproof.state import CaLMUpdate, CandidateState, Contrast
from citeproof.types import Claim, Verdict

__all__ = ["CaLMComposer"]

UNREAD = "the verifier LM has not read this answer"


class CaLMComposerState(CandidateState, ComposerState):
    """What the composer reads."""


@dataclass(frozen=True)
class CaLMComposer:
    """Composes the answer as it is; claims are marked by their verdicts, not in the text."""

    form: Form = "prose"
    method: str = "calm"
    evidence: EvidenceLog | None = None
    """Where cited passages are recorded for later."""

    async def __call__(self, state: CaLMComposerState) -> CaLMUpdate:
        """Compose the answer; it is partial unless both models agree and no claim lacks proof."""
        rounds = state["rounds"]
        claims = [_unread(claim, len(rounds) + 1) for claim in state["claims"]]
        ending: CaLMComposerState = {**state, "claims": claims}
        answer = (await AnswerComposer(self.method, evidence=self.evidence)(ending))["answer"]
        if not answer.claims:
            return {"answer": answer}
        agreed = bool(rounds) and rounds[-1].agreed
        unfinished = state["stop"] or ("" if agreed else _reason(rounds))
        reasons = [unfinished] if unfinished else []
        if unproved := sum(claim.verdict.status == "unsupported" for claim in claims):
            reasons.append(f"{unproved} of {len(claims)} claims could not be proved.")
        changed = {
            "status": "partial" if reasons else "answered",
            "reason": " ".join(reasons),
            "text": written_out(answer.claims, self.form),
        }
        return {"answer": answer.model_copy(update=changed)}


def _unread(claim: Claim, trials: int) -> Claim:
    if claim.verdict.reason != UNCHECKED:
        return claim
    verdict = Verdict(status="unchecked", trials=trials, reason=UNREAD)
    return claim.model_copy(update={"verdict": verdict})


def _reason(rounds: list[Contrast]) -> str:
    if not rounds:
        return "No verifier LM has read this answer."
    count = "1 round" if len(rounds) == 1 else f"{len(rounds)} rounds"
    return f"No agreement in {count}; the answer is the last, which was not verified."
