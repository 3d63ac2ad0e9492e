"""Nodes are plain LangGraph nodes: what each does around its own step."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, NotRequired

import pytest
from langchain_core.documents import Document
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from citeproof import LLM, Toolbox, agents, build_llatrieval
from citeproof.agents.answer_composer import AnswerComposer
from citeproof.agents.answerer import Answerer, VerifierLM
from citeproof.agents.base import LLMNode, Node, SearchNode
from citeproof.agents.claims_verifier import ClaimsVerifier
from citeproof.agents.corrector import Corrector
from citeproof.agents.refiner import DraftRefiner, Refiner
from citeproof.agents.retrieval_verifier import MissingInfo, RetrievalVerifier
from citeproof.agents.retriever import Retriever
from citeproof.agents.summarizer import Summarizer
from citeproof.errors import (
    BudgetExceededError,
    InputError,
    ModelReplyError,
    SettingsError,
)
from citeproof.parameters import Parameters
from citeproof.runtime.events import AnswerReady
from citeproof.runtime.meter import note, spend
from citeproof.runtime.place import Place, current_place
from citeproof.state import (
    Draft,
    Ledger,
    LedgerChannel,
    NodeCost,
    NodeState,
    Reflection,
    RunState,
    SearchRound,
    Update,
    total_usage,
)
from citeproof.testing import ScriptedChatModel, TableEntailment
from citeproof.tools.entailment.cache import CachedEntailment
from citeproof.types import Answer, Citation, Claim, Passage, Usage, Verdict
from tests.agents.states import A, B
from tests.chain import chain

SAID = "Ann Lee built the tower [1]."
ASKED: Any = {"question": "Who built the tower?", "passages": [A, B]}
CLAIM = Claim(
    text="Ann Lee built the tower.",
    citations=(Citation(passage_id="a", number=1, sentence="Ann Lee built the tower."),),
    verdict=Verdict(status="unchecked", reason="nothing has checked this claim"),
)


class Own(TypedDict, total=False):
    """The state of a graph that is none of ours."""

    question: str
    passages: list[Any]
    claims: list[Claim]


class Counted(Own, total=False):
    """The same, with what nodes have cost and the answer."""

    answer: Answer
    ledger: LedgerChannel


def graph_of(*nodes: Any, state: Any = Own, **options: Any) -> Any:
    """The nodes one after the other, called `node1`, `node2` and so on."""
    named = {f"node{number}": node for number, node in enumerate(nodes, start=1)}
    return chain(state, **named).compile(**options)


async def run(graph: Any, given: Any, sync: bool, **options: Any) -> Any:
    return graph.invoke(given, **options) if sync else await graph.ainvoke(given, **options)


def answerer(*replies: Any, **knobs: Any) -> tuple[Answerer, ScriptedChatModel]:
    model = ScriptedChatModel(replies or [SAID])
    return Answerer(model, **knobs), model


def names(ledger: Ledger) -> list[str]:
    """The nodes of a ledger, those of subgraphs behind the node that they are."""
    return ["|".join(part.partition(":")[0] for part in call.split("|")) for call in ledger]


def timeless(ledger: Ledger) -> Ledger:
    """Node → cost without its seconds, which must be there."""
    assert all(cost.usage.seconds > 0 for cost in ledger.values())
    untimed = {"seconds": 0.0, "cached_tokens": 0}
    costs = (
        cost.model_copy(update={"usage": cost.usage.model_copy(update=untimed)})
        for cost in ledger.values()
    )
    return dict(zip(names(ledger), costs, strict=True))


# In anybody's graph


async def test_without_any_graph_a_node_gives_its_update_and_cost() -> None:
    for given in (await answerer()[0].ainvoke(ASKED), answerer()[0].invoke(ASKED)):
        [cost] = given.pop("ledger").values()
        assert given == {"claims": [CLAIM]}
        assert cost.usage.llm_calls == 1


# Language models


def test_a_model_asks_in_the_nodes_role_unless_it_has_one() -> None:
    model = ScriptedChatModel([SAID] * 3)
    mine = LLM(model, role="mine")
    for llm in (model, LLM(model), mine):
        graph_of(Answerer(llm)).invoke(ASKED)
    assert [call.role for call in model.calls] == ["answerer", "answerer", "mine"]
    assert Answerer(mine).llm is mine


@pytest.mark.parametrize("model", [7, None, object(), TableEntailment({})])
def test_what_is_no_language_model_is_refused(model: Any) -> None:
    kind = type(model).__name__
    with pytest.raises(SettingsError, match=f"^A {kind} is not a language model. Give a LangChain"):
        Answerer(model)


# What a node reads


class EveryKind(NodeState):
    question: str
    claims: list[Claim]
    nested: list[list[Claim]]
    summaries: dict[str, str]
    query: str
    shown: int
    draft: Draft | None
    passages: list[Passage]
    stop: NotRequired[str]
    rounds: NotRequired[list[str]]


@dataclass(frozen=True)
class Reads(Node):
    """Hands over what it has read."""

    tell: Callable[[Any], None]

    async def __call__(self, state: EveryKind) -> Update:
        self.tell(dict(state))
        return {}


async def test_keys_that_the_graph_lacks_have_defaults() -> None:
    seen: list[Any] = []
    await graph_of(Reads(seen.append), state=Own).ainvoke({"question": "Who?"})
    [read] = seen
    assert read.pop("ledger", {}) == {}
    assert read == {
        "question": "Who?",
        "claims": [],
        "nested": [],
        "summaries": {},
        "query": "",
        "shown": 0,
        "draft": None,
        "passages": [],
    }


async def test_defaults_are_nobody_elses() -> None:
    seen: list[Any] = []

    def tell(state: Any) -> None:
        seen.append(list(state["claims"]))
        state["claims"].append(CLAIM)

    for _ in range(2):
        await Reads(tell).ainvoke({"question": "Who?"})
    assert seen == [[], []]


async def test_documents_of_langchain_are_taken_as_passages() -> None:
    documents = [Document("The tower was lit in 1871.", id="b", metadata={"title": "Light"}), A]
    node, model = answerer("Ann Lee built the tower [2]. It was lit in 1871 [1].")
    left = await graph_of(node).ainvoke({**ASKED, "passages": documents})
    assert [[c.passage_id for c in claim.citations] for claim in left["claims"]] == [["a"], ["b"]]
    assert 'title="Light"' in model.calls[0].prompt
    assert left["passages"] == documents, "the state keeps what it had"


@dataclass(frozen=True)
class Loose(Node):
    """Of somebody who says no more than that it is a dict."""

    async def __call__(self, state: dict[str, Any]) -> Update:
        return {"claims": [*state["claims"], state["question"]]}


@dataclass(frozen=True)
class Plain(Node):
    """A step that waits for nothing, such as a regular expression."""

    def __call__(self, state: NodeState) -> Update:
        spend(Usage(llm_calls=1))
        return {"stop": "Enough."}


@pytest.mark.parametrize("sync", [True, False])
async def test_a_node_may_be_a_plain_function(sync: bool) -> None:
    left = await run(graph_of(Plain(), state=RunState), {"question": "Who?"}, sync)
    assert left["stop"] == "Enough."
    assert total_usage(left["ledger"]).llm_calls == 1


async def test_a_node_that_does_not_say_what_it_reads_reads_all() -> None:
    left = await graph_of(Loose()).ainvoke({"question": "Who?", "claims": []})
    assert left["claims"] == ["Who?"]


# What a node costs


async def test_the_ledger_counts_calls_tokens_pairs_and_retrievals() -> None:
    node, model = answerer()
    entailment = CachedEntailment(TableEntailment({}, default=0.9))
    graph = graph_of(Retriever([A, B], k=1), node, ClaimsVerifier(entailment), state=Counted)
    left = await graph.ainvoke({"question": "Who built the tower?"})
    words = len(model.calls[0].prompt.split())
    assert timeless(left["ledger"]) == {
        "node1": NodeCost(usage=Usage(retrievals=1)),
        "node2": NodeCost(
            usage=Usage(llm_calls=1, prompt_tokens=words, completion_tokens=len(SAID.split()))
        ),
        "node3": NodeCost(usage=Usage(nli_pairs=1)),
    }
    assert left["claims"][0].verdict.status == "supported"


@dataclass(frozen=True)
class Spends(Node):
    """Costs a call and says so."""

    said: str = "spent"

    async def __call__(self, state: NodeState) -> Update:
        spend(Usage(llm_calls=1))
        note(self.said)
        await asyncio.sleep(0)
        return {}


async def test_nodes_at_the_same_time_are_counted_apart() -> None:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(Counted)
    for name in ("one", "two"):
        builder.add_node(name, Spends(name))
        builder.add_edge(START, name)
    left = await builder.compile().ainvoke({"question": "Who?"})
    assert timeless(left["ledger"]) == {
        name: NodeCost(usage=Usage(llm_calls=1), notes=(name,)) for name in ("one", "two")
    }


# Graphs inside of graphs


@pytest.mark.parametrize("sync", [True, False])
async def test_a_node_of_a_subgraph_is_counted_once_by_the_graph_around_it(sync: bool) -> None:
    inner = graph_of(Spends("in"), Spends("in"), state=Counted)
    graph = graph_of(Spends("out"), inner, inner, state=Counted)
    left = await run(graph, {"question": "Who?"}, sync)
    inside = ["node2|node1", "node2|node2", "node3|node1", "node3|node2"]
    assert names(left["ledger"]) == ["node1", *inside]
    assert total_usage(left["ledger"]).llm_calls == 5


async def test_a_subgraph_that_answers_is_one_entry_of_the_graph_around_it() -> None:
    inner = graph_of(answerer()[0], AnswerComposer(), state=Counted)
    graph = graph_of(Spends("before"), inner, Spends("after"), state=Counted)
    left = await graph.ainvoke(ASKED)
    assert names(left["ledger"]) == ["node1", "node2|", "node3"]
    assert [cost.usage.llm_calls for cost in left["ledger"].values()] == [1, 1, 1]
    assert left["answer"].usage.llm_calls == 1, "what is around the subgraph is none of its cost"
    assert left["answer"].notes == ()


async def test_a_subgraph_goes_on_from_what_was_spent_around_it() -> None:
    """Also once its own calls are one entry."""
    seen: list[Any] = []
    nodes = [answerer()[0], AnswerComposer(), Reads(seen.append)]
    around = spent_before(3)
    await graph_of(graph_of(*nodes, state=Counted), state=Counted).ainvoke(
        {**ASKED, "ledger": around}
    )
    ledger = seen[0]["ledger"]
    assert names(ledger) == ["earlier", "node1|"]
    assert [cost.usage.llm_calls for cost in ledger.values()] == [3, 1]


# Answers


async def test_an_answer_bears_the_cost_and_the_notes_of_the_run() -> None:
    node, _ = answerer(reasoning=True)
    events = []
    graph = graph_of(Spends("first"), node, AnswerComposer(), state=Counted)
    async for mode, part in graph.astream(ASKED, stream_mode=["custom", "values"]):
        if mode == "values":
            left = part
        elif isinstance(part, AnswerReady):
            events.append(part)
    answer = left["answer"]
    usage = answer.usage
    assert (usage.llm_calls, usage.completion_tokens) == (2, len(SAID.split()))
    notes = ("first", "answerer: no heading separates the reasoning from the answer")
    assert answer.notes == notes
    assert left["ledger"] == {"|": NodeCost(usage=usage, notes=notes)}
    assert [event.answer for event in events] == [answer]


@dataclass(frozen=True)
class Answers(Node):
    """Writes an answer, and notes something on the way."""

    async def __call__(self, state: NodeState) -> Update:
        note("the last")
        note("the first")
        return {
            "answer": Answer(
                question="Who?", method="mine", status="answered", notes=("the first",)
            )
        }


async def test_the_nodes_own_notes_are_the_answers_and_only_the_outermost_answer_is_told() -> None:
    inner, asked = graph_of(Answers(), state=Counted), {"question": "Who?"}
    assert (await inner.ainvoke(asked))["answer"].notes == ("the first", "the last")
    around = graph_of(inner, state=Counted)
    stream = around.astream(asked, stream_mode="custom", subgraphs=True)
    assert [part async for part in stream] == []
    [event] = [part async for part in inner.astream(asked, stream_mode="custom")]
    assert isinstance(event, AnswerReady)


# Parameters of the run


class Free(Parameters):
    """Of a graph with no budget of its own."""


class Length(Parameters):
    answer_tokens: int = 55


class Other(Parameters):
    answer_tokens: int = 66


@dataclass(slots=True)
class LengthAsDataclass:
    answer_tokens: int = 33


@pytest.mark.parametrize(
    ("parameters", "context", "tokens"),
    [
        (None, {"answer_tokens": 33}, 33),
        (None, {"answer_tokens": 33, "model": "openai:gpt-4o"}, 33),  # for a node of the caller's
        (None, LengthAsDataclass(), 33),
        (None, Length(answer_tokens=33), 33),
        (None, None, 44),
        (None, {}, 44),
        (None, {"answer_tokens": None}, 44),
        (None, {"size": 3}, 44),
        (Free, Other(answer_tokens=33), 44),
        (Length, None, 55),
        (Length, Length(answer_tokens=33), 33),
        (Length, Other(answer_tokens=33), 55),
        (Length, {"answer_tokens": 33}, 55),
    ],
)
@pytest.mark.parametrize("sync", [True, False])
async def test_parameters_of_the_run_replace_fields_of_the_same_name(
    parameters: Any, context: Any, tokens: int, sync: bool
) -> None:
    """Where the node is of a graph with parameters of its own, those of that graph alone."""
    node, model = answerer(answer_tokens=44, parameters=parameters)
    await run(graph_of(node), ASKED, sync, context=context)
    assert [call.arguments["max_tokens"] for call in model.calls] == [tokens]
    assert node.answer_tokens == 44


# Budgets


def summarizer(**knobs: Any) -> tuple[Summarizer, ScriptedChatModel]:
    """Asks for each passage by itself: for two, where nothing stops it."""
    model = ScriptedChatModel(lambda _: "In short.")
    return Summarizer(model, style="summary", at_once=1, **knobs), model


def spent_before(calls: int) -> Ledger:
    return {"earlier:1": NodeCost(usage=Usage(llm_calls=calls))}


@pytest.mark.parametrize("sync", [True, False])
async def test_the_budget_of_the_run_is_obeyed(sync: bool) -> None:
    node, model = summarizer()
    with pytest.raises(BudgetExceededError, match="The budget of 1 call is spent") as told:
        await run(graph_of(node, state=Counted), ASKED, sync, context={"max_calls": 1})
    assert len(model.calls) == 1
    words = len(model.calls[0].prompt.split())
    usage = Usage(llm_calls=1, prompt_tokens=words, completion_tokens=2)
    assert timeless(dict(told.value.cost)) == {"node1": NodeCost(usage=usage)}


@pytest.mark.parametrize(
    ("context", "before", "calls", "message"),
    [
        ({"max_calls": 2}, 0, 2, ""),
        ({"max_calls": 3}, 2, 1, "The budget of 3 calls is spent."),
        ({"max_calls": 2}, 2, 0, "The budget of 2 calls is spent."),
        ({"max_tokens": 1}, 0, 1, "The budget of 1 token is spent."),
        ({"max_seconds": 1e-9}, 0, 0, "The budget of 1e-09 seconds is spent."),
        (Parameters(max_calls=1), 0, 1, "The budget of 1 call is spent."),
    ],
)
async def test_what_the_ledger_holds_counts_towards_the_budget(
    context: Any, before: int, calls: int, message: str
) -> None:
    node, model = summarizer()
    told = ""
    try:
        given = {**ASKED, "ledger": spent_before(before)}
        await graph_of(node, state=Counted).ainvoke(given, context=context)
    except BudgetExceededError as error:
        told = str(error)
    assert (len(model.calls), told) == (calls, message)


class Frugal(Parameters):
    max_calls: int | None = 1


@pytest.mark.parametrize(
    ("schema", "context", "calls"),
    [
        (Free, None, 2),
        (Frugal, None, 1),
        (Other, Other(max_calls=1), 1),
        (Free, Other(max_calls=9), 2),
        (Free, Other(max_calls=8), 1),
        (None, {"max_calls": 8}, 1),
        (Frugal, Other(max_calls=7), 0),
        (Frugal, Other(max_calls=9), 1),
    ],
)
async def test_a_subgraph_keeps_to_its_own_budget_and_to_that_around_it(
    schema: type[Parameters] | None, context: Any, calls: int
) -> None:
    """Seven calls were made around it, which are none of its own."""
    node, model = summarizer(parameters=schema)
    graph = graph_of(graph_of(node, state=Counted), state=Counted)
    try:
        await graph.ainvoke({**ASKED, "ledger": spent_before(7)}, context=context)
    except BudgetExceededError:
        assert calls < 2
    assert len(model.calls) == calls


# Prompts

WORDS = "{demonstration}Tell {question} in {citing}{abstain}"


async def test_a_prompts_file_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "mine.md"
    file.write_text(WORDS, encoding="utf-8")
    node, model = answerer(prompt=file)
    file.unlink()
    await graph_of(node).ainvoke(ASKED, context={"answer_tokens": 33})
    assert "Tell Who" in model.calls[0].prompt


# Where a node runs


@dataclass(frozen=True)
class Looks(Node):
    """Hands over where it runs."""

    tell: Callable[[Place], None]

    async def __call__(self, state: NodeState) -> Update:
        self.tell(current_place())
        return {}


async def test_a_place_tells_graph_context_and_thread() -> None:
    seen: list[Place] = []
    inner = graph_of(Looks(seen.append))
    builder = chain(Own, draft=inner, other=inner)
    config: Any = {"configurable": {"thread_id": "t"}}
    asked, context = {"question": "Who?"}, {"size": 3}
    await builder.compile(checkpointer=InMemorySaver()).ainvoke(asked, config, context=context)
    assert [place.graph.partition(":")[0] for place in seen] == ["draft", "other"]
    assert [place.drafts for place in seen] == [True, False]
    assert [(place.context, place.thread) for place in seen] == [(context, "t")] * 2
    assert len({place.call for place in seen}) == 2
    seen.clear()
    await builder.compile().ainvoke(asked)
    assert [(place.context, place.thread) for place in seen] == [(None, None)] * 2


# Nodes with several prompts: `prompt` replaces that which the node asks

SEARCH: Any = {**ASKED, "rounds": [SearchRound(query="?", found=1, new=1)]}
REVISED: Any = {
    **ASKED,
    "claims": [CLAIM],
    "rounds": [Reflection(number=1, answer="x", actions=("x",))],
}


@pytest.mark.parametrize(
    ("kind", "knobs", "words", "given"),
    [
        (Answerer, {}, WORDS, ASKED),
        (Answerer, {"form": "list"}, "{demonstration}{question}{example}{numbers}", ASKED),
        (Answerer, {"form": "short"}, "{demonstration}{question}{example}{numbers}", ASKED),
        (Answerer, {"closed_book": True}, "{demonstration}{question}", ASKED),
        (Answerer, {"closed_book": True, "form": "list"}, "{demonstration}{question}", ASKED),
        (Summarizer, {}, "", {**SEARCH, "waiting": ["a"]}),
        (Summarizer, {"style": "summary"}, "", SEARCH),
        (Summarizer, {"style": "snippet"}, "", SEARCH),
        (MissingInfo, {}, "{question}{tried}", SEARCH),
        (MissingInfo, {"query_style": "question"}, "{question}{tried}", SEARCH),
        (RetrievalVerifier, {}, "{question}", SEARCH),
        (RetrievalVerifier, {"verification": "score"}, "{question}", SEARCH),
        (Corrector, {}, "{question}{draft}{rests}{citing}{heading}", ASKED),
        (Corrector, {"form": "list"}, "{question}{draft}{rests}{example}{numbers}", ASKED),
        (Refiner, {}, "{question}{answer}{actions}{citing}{heading}", REVISED),
        (DraftRefiner, {}, "{question}{answer}{actions}{citing}{heading}", REVISED),
        (VerifierLM, {"main_llm": ScriptedChatModel([])}, WORDS, {**ASKED, "claims": [CLAIM]}),
        (
            VerifierLM,
            {"main_llm": ScriptedChatModel([]), "form": "list"},
            "{demonstration}{question}{example}{numbers}",
            {**ASKED, "claims": [CLAIM]},
        ),
    ],
)
async def test_the_words_of_a_node_are_those_of_what_it_asks(
    kind: Any, knobs: dict[str, Any], words: str, given: Any
) -> None:
    model = ScriptedChatModel(lambda _: 'Answer: Ann [1]. {"score": 7}')
    node = kind(model, prompt=f"In my words: {words}", **knobs)
    with contextlib.suppress(ModelReplyError):
        await node.ainvoke(given)
    assert model.calls
    assert all("In my words: " in call.prompt for call in model.calls)


# Every node


BASES = (Node, LLMNode, SearchNode)


def every_kind() -> list[type[Node]]:
    """All nodes of the package."""
    found = []
    for file in Path(agents.__path__[0]).glob("*.py"):
        module = import_module(f"citeproof.agents.{file.stem}")
        own = [kind for kind in vars(module).values() if isinstance(kind, type)]
        found += [kind for kind in own if kind.__module__ == module.__name__]
    return sorted(
        (kind for kind in found if issubclass(kind, Node) and kind not in BASES),
        key=lambda kind: kind.__name__,
    )


def made(kind: type[Node]) -> Node:
    """A node with something for each field that has no default."""
    given: dict[str, Any] = {
        "model": ScriptedChatModel(lambda _: '{"score": 7} Yes. 1. Ann Lee [1]'),
        "main_llm": ScriptedChatModel([]),
        "entailment": TableEntailment({}),
        "graph": build_llatrieval(Toolbox(ScriptedChatModel(lambda _: "Yes"), retriever=[A])),
    }
    needed = [one.name for one in fields(kind) if one.default is one.default_factory is MISSING]
    knobs: dict[str, Any] = {name: given[name] for name in needed}
    return kind(**knobs)


REFUSED = {
    "CandidateRetriever": "There is nothing to answer from",
    "CitationAttacher": "There is nothing to answer from",
    "DraftReader": "There is no draft to prove",
    "Retriever": "There is nothing to answer from",
}
"""Nodes that can do nothing without more than a question, and say so."""


@pytest.mark.parametrize("kind", every_kind())
async def test_every_node_does_with_a_state_of_nothing_but_a_question(kind: type[Node]) -> None:
    refused, left = "", {}
    try:
        left = await graph_of(made(kind), state=Counted).ainvoke({"question": "Who?"})
    except InputError as error:
        refused = error.what
    assert refused == REFUSED.get(kind.__name__, "")
    assert refused or (left["question"] == "Who?" and left["ledger"])
