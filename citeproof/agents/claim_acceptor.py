"""Decides what becomes of a claim.

`ClaimAcceptor` makes the current claim part of the answer (VTG, Algorithm 1, lines 13-15, 18-20,
22-23). `Reviewer` lets a person decide on a claim that could not be proved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from citeproof.agents.base import Node
from citeproof.agents.question_reader import require_checkpointer
from citeproof.runtime.events import (
    ClaimAccepted,
    ClaimDrafted,
    ClaimRejected,
    ClaimReviewed,
    ReviewRequested,
    emit,
)
from citeproof.runtime.meter import note
from citeproof.state import Draft, DraftState, MemoryState, Update, number_passages
from citeproof.text import problem
from citeproof.tools.citations.marked_text import read_marked
from citeproof.tools.citations.marks import cite
from citeproof.tools.llm.replies import clean
from citeproof.types import Claim, Verdict

__all__ = ["APPROVED", "LONGEST", "ClaimAcceptor", "Reviewer", "claim_of"]

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


LONGEST = 2000
"""Maximum length of an edited claim, in characters."""

FORM = (
    'Resume with {"decision": "approve"}, {"decision": "drop"}, or '
    '{"decision": "edit", "text": "…"}.'
)


class Decision(BaseModel):
    """The value that resumes a run."""

    model_config = ConfigDict(extra="forbid")

    decision: Literal["approve", "edit", "drop"]
    text: str = Field(default="", max_length=LONGEST)
    """The edited claim."""


@dataclass(frozen=True)
class Reviewer(Node):
    """Interrupts the run with a `ReviewRequested` as JSON, and carries out the decision.

    On resuming, LangGraph runs the node from its beginning, so the node makes no calls that cost.
    """

    async def __call__(self, state: DraftState) -> Update:
        """Mark the draft as approved or dropped, or replace it by the edited claim to be proved.

        An unusable reply interrupts the run again; the event says what is wrong with it.

        Raises:
            SettingsError: There is no checkpointer to keep the waiting run.
        """
        draft = state["draft"]
        if draft is None:
            return {}
        require_checkpointer()
        verdict = draft.verdict or Verdict(status="unsupported")
        cited = number_passages(state, draft.cited)
        request = ReviewRequested(
            claim=claim_of(state, draft, verdict), passages=tuple(cited.values())
        )
        reply = _ask(request)
        while isinstance(decision := _read(reply, draft.text), str):
            reply = _ask(request.model_copy(update={"problem": decision}))
        emit(ClaimReviewed(text=draft.text, decision=decision.decision))
        if decision.decision != "edit":
            return {"draft": draft.model_copy(update={"decision": decision.decision})}
        emit(ClaimDrafted(text=decision.text, trial=len(state["rejected"]) + 1))
        return {"draft": Draft(text=decision.text, cited=draft.cited, edited=True)}


def _ask(request: ReviewRequested) -> Any:
    try:
        return interrupt(request.model_dump(mode="json"))
    except GraphInterrupt:
        emit(request)  # only if the run stops here, not on the way to a later reply
        raise


def _read(reply: object, claim: str) -> Decision | str:
    """The decision, or what is wrong with the reply."""
    try:
        decision = Decision.model_validate(reply)
    except ValidationError as error:
        return f"{problem(error)}. {FORM}"
    text = _tidy(decision.text)
    if decision.decision == "edit":
        if not text:
            return f"text: an edited claim needs words. {FORM}"
    elif text not in ("", _tidy(claim)):
        return f"text: only an edit changes the claim. {FORM}"
    return decision.model_copy(update={"text": text})


def _tidy(text: str) -> str:
    """The text on one line, without marks, since the verifiers set the citations."""
    return " ".join(" ".join(said.text for said in read_marked(clean(text))).split())
