"""Events of a run, in addition to those that LangGraph reports.

Events travel on LangGraph's `custom` stream: `graph.astream(input, stream_mode="custom")` yields
them one by one, as the frozen models below. LangGraph's `tasks` stream reports which node begins
or ends. Outside a stream, `emit` does nothing. `docs/events.schema.json` describes the events as
JSON.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, get_args

from langgraph.config import get_stream_writer
from pydantic import BaseModel, ConfigDict, Field

from citeproof.types import Answer, Claim, Passage, Usage, Verdict

__all__ = [
    "EVENTS",
    "AnswerReady",
    "ClaimAccepted",
    "ClaimDelta",
    "ClaimDrafted",
    "ClaimRejected",
    "ClaimReviewed",
    "ClaimVerified",
    "Event",
    "EvidenceFound",
    "LLMCalled",
    "LLMWaiting",
    "PairsScored",
    "PassagesRetrieved",
    "QuestionRewritten",
    "ReviewRequested",
    "emit",
]


class _Event(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        use_attribute_docstrings=True,
        json_schema_serialization_defaults_required=True,
    )


class LLMCalled(_Event):
    """One call of a language model."""

    type: Literal["llm_called"] = "llm_called"
    role: str
    model: str = ""
    """The name of the model that replied."""
    prompt: str
    reply: str
    usage: Usage


class LLMWaiting(_Event):
    """A call of a language model has failed and waits for a retry."""

    type: Literal["llm_waiting"] = "llm_waiting"
    role: str
    seconds: float
    """Time until the retry."""
    attempt: int
    """Number of the next attempt, from 2."""
    attempts: int
    """Maximum number of attempts."""
    why: str


class PairsScored(_Event):
    """Entailment scores, in the order of the pairs."""

    type: Literal["pairs_scored"] = "pairs_scored"
    model: str = ""
    """The name of the entailment model."""
    pairs: tuple[tuple[str, str, float], ...]
    """(premise, hypothesis, score)."""
    quick: bool = False
    """Whether these are first scores; promising pairs are then scored again."""


class QuestionRewritten(_Event):
    """A follow-up was rewritten into a question that stands alone, with which the run continues."""

    type: Literal["question_rewritten"] = "question_rewritten"
    asked: str
    question: str


class PassagesRetrieved(_Event):
    """The long-term memory is filled for the question."""

    type: Literal["passages_retrieved"] = "passages_retrieved"
    passages: tuple[Passage, ...]


class ClaimDelta(_Event):
    """More characters of the claim that is being written.

    `claim_drafted` has the claim itself. If none follows, the characters were no claim, such as the
    `DONE` by which a writer ends.
    """

    type: Literal["claim_delta"] = "claim_delta"
    text: str


class ClaimDrafted(_Event):
    """A claim is written; it is not checked yet."""

    type: Literal["claim_drafted"] = "claim_drafted"
    text: str
    trial: int
    """1 for the first attempt at this claim, 2 for the second, and so on."""


class ClaimVerified(_Event):
    """A verifier has decided on a claim."""

    type: Literal["claim_verified"] = "claim_verified"
    text: str
    verdict: Verdict


class ClaimRejected(_Event):
    """The claim is withdrawn: it will be written again, or was dropped."""

    type: Literal["claim_rejected"] = "claim_rejected"
    text: str
    reason: str


class EvidenceFound(_Event):
    """New short-term memory."""

    type: Literal["evidence_found"] = "evidence_found"
    queries: tuple[str, ...]
    passages: tuple[Passage, ...]


class ReviewRequested(_Event):
    """The run waits for a person's decision on a claim that could not be verified.

    The value of the run's interrupt is this event as JSON. The run resumes with
    `Command(resume={"decision": "approve"})`, with `"drop"`, or with `"edit"` and a `"text"`.
    """

    type: Literal["review_requested"] = "review_requested"
    claim: Claim
    """The claim that failed. Its citations have the run's passage numbers."""
    passages: tuple[Passage, ...]
    """The passages that the claim cites, in the order of its citations."""
    problem: str = ""
    """Why the previous decision could not be used; empty at first."""


class ClaimReviewed(_Event):
    """A person has decided on a claim; an edited claim is drafted and proved again."""

    type: Literal["claim_reviewed"] = "claim_reviewed"
    text: str
    """The claim as it was shown."""
    decision: Literal["approve", "edit", "drop"]


class ClaimAccepted(_Event):
    """The claim is part of the answer. Its citations have the run's passage numbers."""

    type: Literal["claim_accepted"] = "claim_accepted"
    claim: Claim


class AnswerReady(_Event):
    """The run is over."""

    type: Literal["answer_ready"] = "answer_ready"
    answer: Answer
    day: date | None = None
    """The day of the answer, by the clock of the machine that ran the graph."""


Event = Annotated[
    LLMCalled
    | LLMWaiting
    | PairsScored
    | QuestionRewritten
    | PassagesRetrieved
    | ClaimDelta
    | ClaimDrafted
    | ClaimVerified
    | ClaimRejected
    | EvidenceFound
    | ReviewRequested
    | ClaimReviewed
    | ClaimAccepted
    | AnswerReady,
    Field(discriminator="type"),
]
EVENTS = get_args(get_args(Event)[0])
"""The classes of all events."""


def emit(event: Event) -> None:
    """Send an event to the run's stream; outside a stream, do nothing."""
    try:
        write = get_stream_writer()
    except (RuntimeError, KeyError):  # called outside a graph
        return
    write(event)
