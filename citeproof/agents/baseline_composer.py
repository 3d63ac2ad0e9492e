"""Ends a run of one of ALCE's baselines with an `Answer`: all claims, as they were written."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.answer_composer import AnswerComposer, ComposerState
from citeproof.agents.form_answerer import AnyForm, written_out
from citeproof.memory.evidence import EvidenceLog
from citeproof.state import BaselineUpdate
from citeproof.tools.events import ClaimAccepted, emit

__all__ = ["BaselineComposer"]


@dataclass(frozen=True)
class BaselineComposer:
    """Composes the answer; nothing is flagged in its text, so that it can be evaluated."""

    method: str
    form: AnyForm = "prose"
    closed_book: bool = False
    """Whether the model was to answer without passages."""
    evidence: EvidenceLog | None = None
    """Where cited passages are recorded for later."""

    async def __call__(self, state: ComposerState) -> BaselineUpdate:
        """Compose the answer; it is partial unless every claim was proved."""
        for claim in state["claims"]:
            emit(ClaimAccepted(claim=claim))
        answer = (await AnswerComposer(self.method, "keep", self.evidence)(state))["answer"]
        changed = {"text": written_out(answer.claims, self.form)}
        if self.closed_book and not (answer.claims or state["stop"]):
            changed["reason"] = "The model gave no answer."
        return {"answer": answer.model_copy(update=changed)}
