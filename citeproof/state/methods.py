"""The state of each method: the keys of its nodes with reducers, which give them defaults."""

from __future__ import annotations

from typing import Annotated, Any

from langgraph.channels import EphemeralValue
from typing_extensions import TypedDict  # pydantic refuses that of typing before 3.12

from citeproof.state.reducers import (
    AnyAnswer,
    AnyBudget,
    AnyDraft,
    AnyRetrieval,
    Claims,
    Contrasts,
    LedgerChannel,
    Messages,
    Passages,
    Reflections,
    Samples,
    SearchRounds,
    Swaps,
    Texts,
    append_new,
    latest,
)
from citeproof.types import Passage


class RunState(TypedDict):
    """The state that all methods share; the keys are explained where the nodes read them."""

    question: str
    messages: Messages
    asked: Annotated[str, latest]
    """The question as it was asked; `question` is its rewriting where it follows up on others."""
    follows_up: Annotated[bool, latest]
    """Whether there are turns before the question, so that it may not stand alone."""
    earlier: Passages
    documents: Annotated[list[Any], EphemeralValue]
    corpus: Passages
    passages: Annotated[list[Passage], append_new]
    long_term: Texts
    short_term: Texts
    claims: Claims
    rejected: Texts
    dropped: Texts
    answerable: Annotated[bool | None, latest]
    """Whether a passage answers the question; None where nobody has asked."""
    stop: Annotated[str, latest]
    """Why the run ended before it was done, such as a spent budget; empty if it did not."""
    budget: AnyBudget
    """The most that the run may spend: its own budget, or less where a graph around
    it has one."""
    ledger: LedgerChannel
    answer: AnyAnswer
    """None until it is composed."""


class VTGState(RunState):
    """The state of a VTG run."""

    draft: AnyDraft
    demonstration: Annotated[str, latest]


class ProvedState(VTGState):
    """The state of a run that proves claims which are there already."""

    given: Claims


class CaLMState(RunState):
    """The state of a CaLM run."""

    shown: Annotated[int, latest]
    verifier_claims: Claims
    kept: Claims
    rounds: Contrasts
    doubt: str | None
    """Why the two models may not agree; None before they were compared."""


class LLatrievalState(RunState):
    """The state of an LLatrieval run."""

    query: Annotated[str, latest]
    waiting: Texts
    summaries: Annotated[dict[str, str], latest]
    rounds: SearchRounds
    swaps: Swaps
    retrieval: AnyRetrieval
    doubt: str | None
    """Why the passages may not suffice."""


class R2MGAState(RunState):
    """The state of an R²-MGA run."""

    demonstration: Annotated[str, latest]
    short_forms: Annotated[dict[str, str], latest]
    rounds: Reflections
    case_id: Annotated[str, latest]
    """The case that the run has left in the memory bank; empty where it left none."""


class BaselineState(RunState):
    """The state of a run of one of ALCE's baselines."""

    short_forms: Annotated[dict[str, str], latest]
    samples: Samples


class GroundingState(BaselineState):
    """The state of a run that verifies quotes or statements, and answers with them alone."""

    kept: Claims


class KeptState(RunState):
    """The state of a run that keeps another graph's answer as a case."""

    case_id: Annotated[str, latest]


class ComposedState(ProvedState):
    """The state of a run of the composed flow."""

    rounds: Reflections
    first: Claims
    first_dropped: Texts
    case_id: Annotated[str, latest]
    retrieval: AnyRetrieval
    """LLatrieval's choice; None where plain retrieval was asked for."""
