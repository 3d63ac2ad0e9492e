"""The keys that each node reads, without reducers, so a node fits into any graph."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict  # before 3.12, pydantic rejects the one in typing

from citeproof.settings import BudgetSettings
from citeproof.state.records import Contrast, Draft, Reflection, SearchRound, Swap
from citeproof.state.reducers import LedgerChannel
from citeproof.types import Claim, Passage


class NodeState(TypedDict):
    """The keys that every node reads, whatever graph it is in."""

    ledger: NotRequired[LedgerChannel]
    """The cost of each call of a node, by its place in the run."""
    budget: NotRequired[BudgetSettings | None]


class MemoryState(NodeState):
    """The question and the evolving memory (VTG, section 2.2)."""

    question: str
    """The question."""
    passages: list[Passage]
    """Every passage found in this run. LangChain documents are accepted too."""
    long_term: NotRequired[list[str]]
    """Ids of D_L: the passages that stay for the whole answer. Without this key, all stay."""
    short_term: NotRequired[list[str]]
    """Ids of D_S: the passages fetched for the current claim."""


class SourceState(NodeState):
    """The keys that a searching node reads."""

    question: str
    documents: NotRequired[list[Any]]
    """Documents that came with the question; citeproof's graphs clear them after the first step."""
    corpus: NotRequired[list[Passage]]
    """The same documents as passages; if there are any, they are searched instead of the
    retriever."""
    earlier: NotRequired[list[Passage]]
    """Passages that earlier turns cited, latest first; they are added to those found."""


class WritingState(MemoryState):
    """Memory and the text so far."""

    claims: list[Claim]
    """Accepted claims (O); until the answer is composed, their citations have run numbers."""
    rejected: list[str]
    """Drafts of the current claim that neither tier supported; their count is t."""
    dropped: list[str]
    """Claims left out of the answer because nothing supported them."""
    demonstration: NotRequired[str]
    """An example for the writer, for another question; quoted text in it is fenced."""


class DraftState(WritingState):
    """Memory, the text so far, and the current claim."""

    draft: Draft | None
    """None if the writer has finished."""


class CandidateState(WritingState):
    """The two answers of CaLM; `claims` is the main LM's, A.

    D_L holds the passages of the kept statements, D_S those that are new in the round.
    """

    shown: int
    """Number of passages from the top of the pool that the main LM has read so far."""
    verifier_claims: list[Claim]
    """A′: the verifier LM's answer to the same question."""
    kept: list[Claim]
    """A ∩ A′: the draft that the next round corrects."""
    rounds: list[Contrast]
    """Outcomes of the rounds so far, one for each contrasted answer."""


class SearchState(MemoryState):
    """LLatrieval's memory. D_L holds the chosen passages (D); D_S is empty."""

    query: str
    """Q: the next or the last query; empty for the question itself."""
    waiting: list[str]
    """Ids of the candidates that the selector has not yet read, in retrieval order."""
    summaries: dict[str, str]
    """Passage id → its summary for the question."""
    rounds: list[SearchRound]
    swaps: list[Swap]


class ReflectionState(WritingState):
    """The answer of R²-MGA: `claims` is A, or A* once it is refined. D is the memory."""

    short_forms: NotRequired[dict[str, str]]
    """Passage id → short form to read instead (SUMM, SNIPPET)."""
    rounds: list[Reflection]
    """The assessments so far; if A* was assessed, the last one is of A*."""


class ShortenedState(MemoryState):
    """Memory with short forms for the model to read (ALCE, section 3: SUMM, SNIPPET)."""

    short_forms: NotRequired[dict[str, str]]
    """Passage id → short form to read instead."""
    demonstration: NotRequired[str]
    claims: NotRequired[list[Claim]]
    """The claims so far, for a step that reads them."""


class SamplesState(MemoryState):
    """Several answers to the question, to choose one from."""

    samples: list[list[Claim]]
    """The claims of each answer; empty for an answer that says nothing."""


class GivenState(DraftState):
    """The state of a proof of existing claims."""

    given: list[Claim]
    """The claims to prove, in order; their citations count by passage id, not by number."""


class RefiningState(GivenState, ReflectionState):
    """A proved answer that is refined once, and the claims before the refinement."""

    first: list[Claim]
    """The proved claims before the refinement."""
    first_dropped: list[str]
    """Claims left out of the answer before the refinement."""
