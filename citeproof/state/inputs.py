"""What goes into a graph, what comes out of it, and what a node may write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.types import Overwrite
from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict  # pydantic refuses that of typing before 3.12

from citeproof.settings import BudgetSettings
from citeproof.state.nodes import NodeState
from citeproof.state.records import Contrast, Draft, Ledger, Reflection, Retrieval, Swap
from citeproof.state.reducers import LedgerChannel, Messages
from citeproof.types import Answer, CheckReport, Claim, Passage


class Question(BaseModel):
    """The input of every graph."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    question: str = ""
    """The question. It may be left out where `messages` end with it."""
    messages: list[Any] = []
    """A conversation whose last message is the question: LangChain messages, or objects with
    `role` and `content`. A graph with a checkpointer needs the last one alone."""
    documents: list[Any] = []
    """Passages to answer from, instead of the index: `Passage`s, LangChain documents, dicts of
    their fields, or plain strings."""
    corpus: SkipJsonSchema[list[Passage]] = []
    """In a subgraph, the documents that came with the question of the run around it."""
    asked: SkipJsonSchema[str] = ""
    """In a subgraph, what was asked of the run around it, whose question stands alone already."""
    earlier: SkipJsonSchema[list[Passage]] = []
    """In a subgraph, what the turns before have cited."""
    budget: SkipJsonSchema[BudgetSettings | None] = None
    """In a subgraph, what the run around it may have spent in all when it ends."""
    ledger: SkipJsonSchema[Ledger] = {}
    """In a subgraph, what the run around it has spent by now."""


class QuestionInput(TypedDict):
    """A `Question` as a dict, as graphs take it; for type checkers."""

    question: NotRequired[str]
    messages: NotRequired[Sequence[Any]]
    documents: NotRequired[list[Any]]


class Result(TypedDict):
    """The output of every graph."""

    question: str
    """The question that was answered: of a follow-up, the one that stands alone."""
    answer: Answer
    messages: Messages
    """The conversation; its last message is the answer."""
    ledger: LedgerChannel
    """The cost of the whole run; a graph around this one adds it to its own."""


class CaLMResult(Result):
    """The output of CaLM: the answer, and how it came about."""

    rounds: list[Contrast]


class LLatrievalResult(Result):
    """The output of LLatrieval: the answer, and what it was written from."""

    retrieval: Retrieval


class KeptResult(Result):
    """The output of a graph that remembers: the answer, and the case that it left."""

    case_id: str


class R2MGAResult(KeptResult):
    """The output of R²-MGA: the answer, how it came about, and what was learnt."""

    rounds: list[Reflection]


class ComposedResult(R2MGAResult):
    """The output of the composed flow: the answer, how it came about, and what was learnt."""

    retrieval: Retrieval | None


class ProofInput(NodeState):
    """The input of a proof."""

    question: str
    passages: list[Passage]
    """Passages that the claims cite, and may cite instead."""
    given: list[Claim]
    corpus: NotRequired[list[Passage]]
    long_term: NotRequired[list[str]]
    stop: NotRequired[str]


class ProofResult(TypedDict):
    """The output of a proof."""

    passages: list[Passage]
    """Those of the input, and what was found beside them."""
    claims: list[Claim]
    """The claims with verdicts, in order."""
    dropped: list[str]
    stop: str
    ledger: LedgerChannel


class Update(TypedDict, total=False):
    """Keys that a node may write; LangGraph leaves out those that a graph's state does not have."""

    question: str
    messages: list[AnyMessage]
    asked: str
    follows_up: bool
    earlier: list[Passage]
    documents: list[Any]
    corpus: list[Passage]
    passages: list[Passage] | Overwrite
    long_term: list[str]
    short_term: list[str]
    claims: list[Claim]
    rejected: list[str]
    dropped: list[str]
    draft: Draft | None
    demonstration: str
    given: list[Claim]
    first: list[Claim]
    first_dropped: list[str]
    shown: int
    verifier_claims: list[Claim]
    kept: list[Claim]
    query: str
    waiting: list[str]
    summaries: dict[str, str]
    short_forms: dict[str, str]
    samples: list[list[Claim]]
    rounds: list[Any]
    swaps: list[Swap]
    retrieval: Retrieval | None
    case_id: str
    answerable: bool | None
    stop: str
    doubt: str | None
    budget: BudgetSettings | None
    ledger: Ledger | Overwrite
    answer: Answer | None
    report: CheckReport | None
