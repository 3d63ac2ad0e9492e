"""Lets a person decide on a claim that the proof has given up on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from citeproof.agents.base import Node
from citeproof.agents.claim_acceptor import claim_of
from citeproof.agents.question_reader import require_checkpointer
from citeproof.runtime.events import ClaimDrafted, ClaimReviewed, ReviewRequested, emit
from citeproof.state import Draft, DraftState, Update, number_passages
from citeproof.text import problem
from citeproof.tools.citations.marked_text import read_marked
from citeproof.tools.llm.replies import clean
from citeproof.types import Verdict

__all__ = ["LONGEST", "Reviewer"]

LONGEST = 2000
"""Characters of an edited claim, at most."""

FORM = (
    'Resume with {"decision": "approve"}, {"decision": "drop"}, or '
    '{"decision": "edit", "text": "…"}.'
)


class Decision(BaseModel):
    """The value that a run is resumed with."""

    model_config = ConfigDict(extra="forbid")

    decision: Literal["approve", "edit", "drop"]
    text: str = Field(default="", max_length=LONGEST)
    """The claim in a person's words, where it is edited."""


@dataclass(frozen=True)
class Reviewer(Node):
    """Interrupts the run with a `ReviewRequested` as JSON, and carries out the decision.

    LangGraph runs a node from its beginning when it resumes, so nothing here costs anything.
    """

    async def __call__(self, state: DraftState) -> Update:
        """Mark the draft as approved or dropped, or draft it in other words, to be proved again.

        An unusable reply interrupts the run again; the event says what was wrong.

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
        return {"draft": Draft(text=decision.text, cited=draft.cited)}


def _ask(request: ReviewRequested) -> Any:
    try:
        return interrupt(request.model_dump(mode="json"))
    except GraphInterrupt:
        emit(request)  # only where the run stops here: on the way to a later reply, nobody waits
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
    """The text on one line, without marks: citations are set by the verifiers."""
    return " ".join(" ".join(said.text for said in read_marked(clean(text))).split())
