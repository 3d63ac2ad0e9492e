"""Ends a search: what was chosen, whether it suffices, and the answer from it."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.answer_composer import AnswerComposer, ComposerState
from citeproof.memory.evidence import EvidenceLog
from citeproof.state import LLatrievalUpdate, Retrieval, SearchState
from citeproof.tools.events import ClaimAccepted, emit

__all__ = ["RetrievalComposer"]


class EndState(SearchState, ComposerState):
    """What the composer reads."""


@dataclass(frozen=True)
class RetrievalComposer:
    """Ends a run with a `Retrieval` and an `Answer`, whatever has been reached by then."""

    answer: bool = True
    """Whether an answer was asked for."""
    method: str = "llatrieval"
    evidence: EvidenceLog | None = None
    """Where cited passages are recorded for later."""

    async def __call__(self, state: EndState) -> LLatrievalUpdate:
        """Compose both; an answer says so where its passages were not found to suffice."""
        retrieval = _retrieval(state)
        for claim in state["claims"]:
            emit(ClaimAccepted(claim=claim))
        ending: EndState = {**state, "rejected": [], "dropped": []}
        answer = (await AnswerComposer(self.method, "keep", self.evidence)(ending))["answer"]
        changed: dict[str, str] = {"reason": self._reason(state, retrieval)}
        if answer.claims and changed["reason"]:
            changed["status"] = "partial"
        return {"retrieval": retrieval, "answer": answer.model_copy(update=changed)}

    def _reason(self, state: EndState, retrieval: Retrieval) -> str:
        reasons = [] if retrieval.verified else [retrieval.reason]
        if state["stop"] and state["stop"] not in reasons:
            reasons.append(state["stop"])
        if claims := state["claims"]:
            verdicts = [claim.verdict.status for claim in claims]
            if "unchecked" in verdicts:
                reasons.append("The claims were not checked.")
            elif unproved := verdicts.count("unsupported"):
                reasons.append(f"{unproved} of {len(claims)} claims could not be proved.")
        elif not self.answer:
            reasons.append("No answer was asked for.")
        elif retrieval.passages and not state["stop"]:
            reasons.append("The passages that were found do not answer the question.")
        return " ".join(reasons)


def _retrieval(state: EndState) -> Retrieval:
    by_id = {passage.id: passage for passage in state["passages"]}
    chosen, rounds = state["long_term"], state["rounds"]
    verified = any(done.sufficient for done in rounds)
    if verified:
        reason = "The passages were found to suffice."
    elif state["stop"]:
        reason = state["stop"]
    elif not chosen:
        reason = "No passage was found for the question."
    else:
        times = "round" if len(rounds) == 1 else "rounds"
        reason = f"The passages were not found to suffice after {len(rounds)} {times}."
    unread = set(state["waiting"]) - set(chosen)
    return Retrieval(
        verified=verified,
        reason=reason,
        candidates=len(by_id.keys() - unread),
        passages=tuple(by_id[key] for key in chosen),
        rounds=tuple(rounds),
        swaps=tuple(state["swaps"]),
    )
