"""The state of each method: the keys of its nodes with reducers, which give them defaults."""

from __future__ import annotations

from typing import Annotated, Any

from langgraph.channels import EphemeralValue
from typing_extensions import TypedDict  # before 3.12, pydantic rejects the one in typing

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
    """The state that all methods share; the states of the nodes document most keys."""

    question: str
    messages: Messages
    asked: Annotated[str, latest]
    """The question as asked; for a follow-up, `question` is its rewriting."""
    follows_up: Annotated[bool, latest]
    """Whether the question has earlier turns, so that it may not stand alone."""
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
    """Whether a passage answers the question; None if it was not checked."""
    doubt: Annotated[str | None, latest]
    """Why the answer may be wrong or incomplete; empty if that was checked, None if it was not."""
    stop: Annotated[str, latest]
    """Why the run ended early, such as a spent budget; empty if it did not."""
    budget: AnyBudget
    """The limits of the run: its own budget, or less if an outer graph has one."""
    ledger: LedgerChannel
    answer: AnyAnswer
    """None until the answer is composed."""


class VTGState(RunState):
    """The state of a VTG run."""

    draft: AnyDraft
    demonstration: Annotated[str, latest]


class ProvedState(VTGState):
    """The state of a run that proves existing claims."""

    given: Claims


class CaLMState(RunState):
    """The state of a CaLM run."""

    shown: Annotated[int, latest]
    verifier_claims: Claims
    kept: Claims
    rounds: Contrasts


class LLatrievalState(RunState):
    """The state of an LLatrieval run."""

    query: Annotated[str, latest]
    waiting: Texts
    summaries: Annotated[dict[str, str], latest]
    rounds: SearchRounds
    swaps: Swaps
    retrieval: AnyRetrieval


class R2MGAState(RunState):
    """The state of an R²-MGA run."""

    demonstration: Annotated[str, latest]
    short_forms: Annotated[dict[str, str], latest]
    rounds: Reflections
    case_id: Annotated[str, latest]
    """The case that the run added to the memory bank; empty if it added none."""


class BaselineState(RunState):
    """The state of a run of an ALCE baseline."""

    short_forms: Annotated[dict[str, str], latest]
    samples: Samples


class GroundingState(BaselineState):
    """The state of a run that verifies quotes or statements and answers only with these."""

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
    """LLatrieval's choice; None with plain retrieval."""
