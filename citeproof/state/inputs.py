"""The inputs and outputs of graphs, and the updates that a node may write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.types import Overwrite
from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict  # before 3.12, pydantic rejects the one in typing

from citeproof.settings import BudgetSettings
from citeproof.state.nodes import NodeState
from citeproof.state.records import Contrast, Draft, Ledger, Reflection, Retrieval, Swap
from citeproof.state.reducers import LedgerChannel, Messages
from citeproof.types import Answer, CheckReport, Claim, Passage


class Question(BaseModel):
    """The input of every graph."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    question: str = ""
    """The question. May be omitted if `messages` end with it."""
    messages: list[Any] = []
    """A conversation whose last message is the question: LangChain messages, or objects with
    `role` and `content`. A graph with a checkpointer needs only the last message."""
    documents: list[Any] = []
    """Passages to answer from instead of the index: `Passage`s, LangChain documents, dicts of
    their fields, or plain strings."""
    corpus: SkipJsonSchema[list[Passage]] = []
    """In a subgraph: the documents that came with the question of the outer run."""
    asked: SkipJsonSchema[str] = ""
    """In a subgraph: the question put to the outer run, whose `question` already stands alone."""
    earlier: SkipJsonSchema[list[Passage]] = []
    """In a subgraph: the passages that earlier turns cited."""
    budget: SkipJsonSchema[BudgetSettings | None] = None
    """In a subgraph: the total that the outer run may have spent when it ends."""
    ledger: SkipJsonSchema[Ledger] = {}
    """In a subgraph: the costs of the outer run so far."""


class QuestionInput(TypedDict):
    """A `Question` as a dict, the input of graphs; for type checkers."""

    question: NotRequired[str]
    messages: NotRequired[Sequence[Any]]
    documents: NotRequired[list[Any]]


class Result(TypedDict):
    """The output of every graph."""

    question: str
    """The answered question; for a follow-up, its rewriting that stands alone."""
    answer: Answer
    messages: Messages
    """The conversation; its last message is the answer."""
    ledger: LedgerChannel
    """The cost of the whole run; an outer graph adds it to its own."""


class CaLMResult(Result):
    """The output of CaLM: the answer and its history."""

    rounds: list[Contrast]


class LLatrievalResult(Result):
    """The output of LLatrieval: the answer and the passages that it was written from."""

    retrieval: Retrieval


class KeptResult(Result):
    """The output of a graph that remembers: the answer and the case that it kept."""

    case_id: str


class R2MGAResult(KeptResult):
    """The output of R²-MGA: the answer, its history and the case that was kept."""

    rounds: list[Reflection]


class ComposedResult(R2MGAResult):
    """The output of the composed flow: the answer, its history and the case that was kept."""

    retrieval: Retrieval | None


class ProofInput(NodeState):
    """The input of a proof."""

    question: str
    passages: list[Passage]
    """Passages that the claims cite or may cite instead."""
    given: list[Claim]
    corpus: NotRequired[list[Passage]]
    long_term: NotRequired[list[str]]
    stop: NotRequired[str]


class ProofResult(TypedDict):
    """The output of a proof."""

    passages: list[Passage]
    """The passages of the input and those found in addition."""
    claims: list[Claim]
    """The claims with verdicts, in order."""
    dropped: list[str]
    stop: str
    ledger: LedgerChannel


class Update(TypedDict, total=False):
    """Keys that a node may write; LangGraph ignores those that the graph's state lacks."""

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
