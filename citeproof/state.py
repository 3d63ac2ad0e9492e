"""The values that flow along the edges of the graphs.

Each node declares the part of the state that it reads (`MemoryState`, `DraftState`, …); these are
plain, so that a node fits a graph of anybody's. The state of each method (`VTGState`, …) has the
same keys with reducers, which give them defaults: a node finds every key, whatever ran before it.
Passages are numbered by their place in `passages`, from 1: a passage keeps its number for the
whole run, whichever memory it sits in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypeVar

from langchain_core.messages import AnyMessage
from langgraph.channels import EphemeralValue
from langgraph.graph.message import add_messages
from langgraph.types import Overwrite
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict  # pydantic refuses that of typing before 3.12

from citeproof.errors import InputError
from citeproof.settings import BudgetSettings
from citeproof.types import Answer, CheckReport, Claim, Passage, Usage, Verdict

__all__ = [
    "BaselineState",
    "CaLMResult",
    "CaLMState",
    "CandidateState",
    "ComposedResult",
    "ComposedState",
    "Contrast",
    "Corroboration",
    "Draft",
    "DraftState",
    "GivenState",
    "GroundingState",
    "KeptResult",
    "KeptState",
    "LLatrievalResult",
    "LLatrievalState",
    "Ledger",
    "MemoryState",
    "NodeCost",
    "NodeState",
    "ProofInput",
    "ProofResult",
    "ProvedState",
    "Question",
    "QuestionInput",
    "R2MGAResult",
    "R2MGAState",
    "RefiningState",
    "Reflection",
    "ReflectionState",
    "Result",
    "Retrieval",
    "RunState",
    "SamplesState",
    "SearchRound",
    "SearchState",
    "ShortenedState",
    "SourceState",
    "Swap",
    "Update",
    "VTGState",
    "WritingState",
    "append_new",
    "calls_of",
    "count_proved",
    "last_round",
    "latest",
    "latest_of",
    "memory_passages",
    "merge_ledgers",
    "number_passages",
    "proved_share",
    "text_so_far",
    "total_usage",
]


class Draft(BaseModel):
    """The claim now in hand."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    cited: tuple[str, ...] = ()
    """Ids of the passages it cites."""
    verdict: Verdict | None = None
    """None until a verifier has looked at it."""
    against: tuple[str, ...] = ()
    """Ids of passages that say otherwise."""
    decision: Literal["approve", "drop"] | None = None
    """The decision of a person, where nothing supports it and one was asked."""


class Corroboration(BaseModel):
    """The verifier LM's view of one statement of the main LM (CaLM, section 4)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    statement: str
    """Without citation marks."""
    share: float = Field(ge=0.0, le=1.0)
    """How much of the statement the verifier's answer says as well."""
    by: str = ""
    """The verifier's statement that says the most of it; empty where none says anything of it."""
    corroborated: bool
    """Whether the share is enough, and the statement cites something."""


class Contrast(BaseModel):
    """One round of CaLM: the two answers, and how far they agree."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int = Field(ge=1)
    rouge_2: float = Field(ge=0.0, le=1.0)
    """F1 of the two answers."""
    agreed: bool
    """Whether the main LM's answer is accepted."""
    answer: str
    """The main LM's answer, without citation marks."""
    verifier_answer: str
    """The verifier LM's answer, without citation marks; empty where it had nothing to read."""
    statements: tuple[Corroboration, ...]
    """One for each statement of the main LM's answer, in order."""


class SearchRound(BaseModel):
    """One query of a search that verifies what it has chosen (LLatrieval, Algorithm 1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str
    found: int = Field(ge=0)
    """N or fewer: passages that the retriever gave."""
    new: int = Field(ge=0)
    """Those of them that no earlier round had found."""
    sufficient: bool | None = None
    """The verifier's verdict on D; None where D could not have changed, or nobody asked."""
    score: float | None = Field(default=None, ge=0.0, le=10.0)
    """The verifier's score of D, where it gives scores."""


class Swap(BaseModel):
    """The change in D by one window of candidates (LLatrieval, section 3.2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    round: int = Field(ge=1)
    entered: tuple[Passage, ...] = ()
    left: tuple[Passage, ...] = ()


class Retrieval(BaseModel):
    """The passages that LLatrieval has chosen for a question, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    verified: bool
    """Whether the verifier found that the passages suffice to answer the question."""
    reason: str
    """Why the search stopped."""
    candidates: int = Field(ge=0)
    """Different passages that were read, to choose from."""
    passages: tuple[Passage, ...]
    """D: the chosen passages, k or fewer."""
    rounds: tuple[SearchRound, ...]
    swaps: tuple[Swap, ...]
    """One for each window, in order."""


class Reflection(BaseModel):
    """One assessment of the answer, and what was planned upon it (R²-MGA).

    Passages bear the run's numbers: their places among the passages that were found, from 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int = Field(ge=1)
    answer: str
    """The assessed text, with its marks."""
    feedback: str = ""
    """F: a line for each verdict; empty where no assessment could be read."""
    complete: bool | None = False
    """Whether it says all that is asked; None where that was not assessed."""
    correct: bool = False
    """Whether it says nothing but what the passages state."""
    cited: bool = False
    """Whether its citations are right."""
    actions: tuple[str, ...] = ()
    """T; empty where nothing was to be refined, or no round was left."""

    @property
    def faulty(self) -> bool:
        """Whether the answer was found to need a refinement."""
        right = self.complete is not False and self.correct and self.cited
        return bool(self.feedback) and not right


class NodeCost(BaseModel):
    """The cost of one call of a node, and its notes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    """Problems that were repaired."""


Ledger = dict[str, NodeCost]
"""Where a node was called (LangGraph's checkpoint namespace, which names node and task, and the
subgraphs that they are in) → what that call has cost."""

T = TypeVar("T")


def latest(_: T, new: T) -> T:
    """Reducer: the new value. Unlike a plain key, one with a reducer has a default."""
    return new


def latest_of(kind: Any) -> Callable[[Any, Any], Any]:
    """A reducer: the new value, of this type also where a person has given it as JSON.

    In Studio, and through a server, the state can be changed at any step.
    """
    made = TypeAdapter(kind).validate_python

    def latest_made(_: Any, new: Any) -> Any:
        return made(new) if _is_json(new) else new

    return latest_made


def _is_json(value: object) -> bool:
    """Whether objects of JSON are in it, where there should be models."""
    if isinstance(value, list):
        return any(map(_is_json, value))
    return isinstance(value, Mapping)


def append_new(old: list[Passage], new: list[Passage]) -> list[Passage]:
    """Reducer: add the passages that are not there yet, so that numbers never shift."""
    known = {passage.id for passage in old}
    made = (Passage.model_validate(one) if _is_json(one) else one for one in new)
    fresh = {passage.id: passage for passage in made if passage.id not in known}
    return [*old, *fresh.values()]


def merge_ledgers(old: Ledger, new: Ledger) -> Ledger:
    """Reducer: every call once. A subgraph gives back what it was handed, with its own calls."""
    made = {place: NodeCost.model_validate(c) if _is_json(c) else c for place, c in new.items()}
    return {**old, **made}


Texts = Annotated[list[str], latest]
Claims = Annotated[list[Claim], latest_of(list[Claim])]
Passages = Annotated[list[Passage], latest_of(list[Passage])]
Samples = Annotated[list[list[Claim]], latest_of(list[list[Claim]])]
Contrasts = Annotated[list[Contrast], latest_of(list[Contrast])]
SearchRounds = Annotated[list[SearchRound], latest_of(list[SearchRound])]
Swaps = Annotated[list[Swap], latest_of(list[Swap])]
Reflections = Annotated[list[Reflection], latest_of(list[Reflection])]
AnyDraft = Annotated[Draft | None, latest_of(Draft)]
AnyAnswer = Annotated[Answer | None, latest_of(Answer)]
AnyBudget = Annotated[BudgetSettings | None, latest_of(BudgetSettings)]
AnyRetrieval = Annotated[Retrieval | None, latest_of(Retrieval)]
LedgerChannel = Annotated[Ledger, merge_ledgers]
Messages = Annotated[list[AnyMessage], add_messages]


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


def last_round(rounds: Sequence[T]) -> T:
    """The last round.

    Raises:
        InputError: There is none: an update of the state took it out.
    """
    if not rounds:
        raise InputError(
            "The run cannot go on",
            why="its state holds no round, though one has been made",
            fix="Leave the last one in `rounds`, or go on from an earlier checkpoint.",
        )
    return rounds[-1]


def memory_passages(state: MemoryState) -> dict[int, Passage]:
    """D_L ∪ D_S: number → passage, in order of the numbers; all where the state has neither."""
    numbered_passages = enumerate(state["passages"], start=1)
    if "long_term" not in state and "short_term" not in state:
        return dict(numbered_passages)
    inside = {*state.get("long_term", ()), *state.get("short_term", ())}
    return {n: p for n, p in numbered_passages if p.id in inside}


def number_passages(state: MemoryState, ids: Iterable[str]) -> dict[int, Passage]:
    """Number → passage for some ids, in order of the numbers; unknown ids are left out."""
    wanted = set(ids)
    return {n: p for n, p in enumerate(state["passages"], start=1) if p.id in wanted}


def text_so_far(state: WritingState) -> str:
    """The accepted text so far, without marks."""
    return " ".join(claim.text for claim in state["claims"])


def proved_share(claims: Sequence[Claim], dropped: Sequence[str] = ()) -> float:
    """Share of the claims that are supported, 0 to 1; those that were dropped are not."""
    return count_proved(claims) / max(1, len(claims) + len(dropped))


def count_proved(claims: Sequence[Claim]) -> int:
    """The number of claims that are supported."""
    return sum(claim.verdict.status == "supported" for claim in claims)


def total_usage(ledger: Ledger, graph: str = "") -> Usage:
    """The total cost of the calls of a ledger.

    Args:
        ledger: Place of a call → its cost.
        graph: Counts the calls of one subgraph only; its checkpoint namespace.
    """
    return sum((cost.usage for cost in calls_of(ledger, graph).values()), Usage())


def calls_of(ledger: Ledger, graph: str) -> Ledger:
    """The entries of one graph, subgraphs included; all where it is the outermost, ""."""
    return {place: c for place, c in ledger.items() if place.startswith(f"{graph}|") or not graph}
