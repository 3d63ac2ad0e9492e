"""The keys that each node reads; plain, so that a node fits a graph of anybody's."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict  # pydantic refuses that of typing before 3.12

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
    """Every passage met in this run. LangChain documents are taken as well."""
    long_term: NotRequired[list[str]]
    """Ids of D_L: the passages that stay for the whole answer. Without this key all stay."""
    short_term: NotRequired[list[str]]
    """Ids of D_S: the passages fetched for the claim now in hand."""


class SourceState(NodeState):
    """The keys that a searching node reads."""

    question: str
    documents: NotRequired[list[Any]]
    """Documents that came with the question; gone after the first step of our own graphs."""
    corpus: NotRequired[list[Passage]]
    """The same as passages: searched in place of the retriever where there are any."""
    earlier: NotRequired[list[Passage]]
    """Passages that earlier turns cited, the latest first; they join those that are found."""


class WritingState(MemoryState):
    """Memory, and the text so far."""

    claims: list[Claim]
    """Accepted claims (O); until the answer is composed their citations bear run numbers."""
    rejected: list[str]
    """Drafts of the claim now in hand that neither tier supported; their count is t."""
    dropped: list[str]
    """Claims left out of the answer because nothing supported them."""
    demonstration: NotRequired[str]
    """An example for the writer, of another question; quoted text in it is fenced."""


class DraftState(WritingState):
    """Memory, the text so far, and the claim now in hand."""

    draft: Draft | None
    """None where the writer has finished."""


class CandidateState(WritingState):
    """The two answers of CaLM, of which `claims` is the main LM's, A.

    D_L holds the passages of the kept statements, D_S those that are new in the round.
    """

    shown: int
    """How many passages of the pool, from its top, the main LM has been shown so far."""
    verifier_claims: list[Claim]
    """A′: the verifier LM's answer to the same question."""
    kept: list[Claim]
    """A ∩ A′: the draft that the next round corrects."""
    rounds: list[Contrast]
    """Outcomes of the rounds so far, one for each answer that was contrasted."""


class SearchState(MemoryState):
    """LLatrieval's memory. D_L holds the chosen passages (D), and D_S nothing."""

    query: str
    """Q: what is searched for next, or was last; empty for the question itself."""
    waiting: list[str]
    """Ids of the candidates that the selector has still to read, in retrieval order."""
    summaries: dict[str, str]
    """Passage id → its summary for the question."""
    rounds: list[SearchRound]
    swaps: list[Swap]


class ReflectionState(WritingState):
    """The answer of R²-MGA: `claims` is A, and A* once it is refined. D is the memory."""

    short_forms: NotRequired[dict[str, str]]
    """Passage id → what is read in its place (SUMM, SNIPPET)."""
    rounds: list[Reflection]
    """The assessments so far; the last is that of A*, where A* was assessed."""


class ShortenedState(MemoryState):
    """Memory of which the model may read a short form (ALCE, section 3: SUMM, SNIPPET)."""

    short_forms: NotRequired[dict[str, str]]
    """Passage id → what is read in its place."""
    demonstration: NotRequired[str]
    claims: NotRequired[list[Claim]]
    """The claims so far, for a step that reads them."""


class SamplesState(MemoryState):
    """Several answers to the question, of which one is chosen."""

    samples: list[list[Claim]]
    """The claims of each answer; empty for one that says nothing."""


class GivenState(DraftState):
    """The state of a proof of claims that are there already."""

    given: list[Claim]
    """The claims to prove, in order; what their citations name by id counts, not the numbers."""


class RefiningState(GivenState, ReflectionState):
    """A proved answer that is refined once, and what it was before."""

    first: list[Claim]
    """The proved claims as they were before the refinement."""
    first_dropped: list[str]
    """Claims left out of the answer by then."""
