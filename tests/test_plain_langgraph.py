"""Nodes are LangGraph's: they need nothing but `StateGraph`, `add_node` and edges.

And graphs are LangGraph's: their state can be changed, forked and gone on with at every step,
and they serve as tools and in batches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import CachePolicy, Overwrite, StateSnapshot
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict

from citeproof import Toolbox, build_vtg
from citeproof.agents.answer_composer import AnswerComposer
from citeproof.agents.citation_generator import CitationGenerator
from citeproof.agents.claim_acceptor import ClaimAcceptor
from citeproof.agents.claim_generator import ClaimGenerator
from citeproof.agents.evidence_finder import EvidenceFinder
from citeproof.agents.generation_verifier import GenerationVerifier, MemoryVerifier
from citeproof.agents.question_reader import QuestionReader
from citeproof.agents.quoter import Quoter
from citeproof.agents.retriever import Retriever
from citeproof.agents.simplifier import Simplifier
from citeproof.errors import InputError
from citeproof.graphs.finishing import finish_at
from citeproof.graphs.proof import build_proof
from citeproof.graphs.registry import METHODS
from citeproof.state import Draft, Result, VTGState
from citeproof.testing import ScriptedChatModel, TableEntailment, passage
from tests.agents.states import claim
from tests.chain import chain, run
from tests.graphs.r2_mga_scripts import empty_bank
from tests.graphs.scripts import BUILT, KEPT, LIT, A, B, C, Script, timeless
from tests.robustness.chaos import QUESTION, Steady
from tests.robustness.flows import FLOWS, followed, seed, switched_off

ASKED: Any = {"question": "Who built the tower?"}
WRONG = "Cy Fox built the tower."


# VTG without citeproof's builders


def plain_vtg(tools: Toolbox, checkpointer: Any = None) -> Any:
    """Algorithm 1, with the defaults of the nodes."""
    writer, end = "claim_generator", "answer_composer"
    builder: Any = StateGraph(VTGState, output_schema=Result)
    builder.set_node_defaults(error_handler=finish_at(end))
    builder.add_node("question_reader", QuestionReader())
    builder.add_node("retriever", Retriever(tools.retriever))
    builder.add_node(writer, ClaimGenerator(tools.llm, answerability=tools.answerability))
    builder.add_node("citation_generator", CitationGenerator(tools.llm))
    builder.add_node("generation_verifier", GenerationVerifier(tools.entailment))
    builder.add_node("memory_verifier", MemoryVerifier(tools.entailment))
    builder.add_node("simplifier", Simplifier(tools.entailment))
    builder.add_node("quoter", Quoter(tools.answerability))
    builder.add_node("evidence_finder", EvidenceFinder(tools.llm, tools.retriever))
    builder.add_node("claim_acceptor", ClaimAcceptor())
    builder.add_node(end, AnswerComposer(announce=False))
    builder.add_edge(START, "question_reader")
    builder.add_edge("question_reader", "retriever")
    builder.add_edge("retriever", writer)
    builder.add_conditional_edges(
        writer, lambda state: "citation_generator" if state["draft"] else end
    )
    builder.add_edge("citation_generator", "generation_verifier")
    builder.add_conditional_edges(
        "generation_verifier",
        lambda state: "simplifier" if supported(state) else "memory_verifier",
    )
    builder.add_conditional_edges("memory_verifier", after_memory_verifier)
    builder.add_edge("evidence_finder", writer)
    builder.add_edge("simplifier", "quoter")
    builder.add_edge("quoter", "claim_acceptor")
    builder.add_conditional_edges(
        "claim_acceptor", lambda s: writer if len(s["claims"]) + len(s["dropped"]) < 6 else end
    )
    builder.add_edge(end, END)
    return builder.compile(checkpointer=checkpointer)


def supported(state: VTGState) -> bool:
    draft = state["draft"]
    return bool(draft and draft.verdict and draft.verdict.status == "supported")


def after_memory_verifier(state: VTGState) -> str:
    if supported(state):
        return "simplifier"
    return "claim_acceptor" if len(state["rejected"]) > 1 else "evidence_finder"


def script() -> Script:
    """A claim that is proved, one that memory proves, one that fails and is written anew, and one
    that nothing proves."""
    return Script(
        claims=[BUILT, LIT, WRONG, KEPT, WRONG, WRONG, "DONE"],
        citations=[[1], [1], [2], [3], "none", "none", [1], []],
        questions=[["Who kept it?"], ["?"], "no JSON", ["?"], ["?"]],
        passages={"": [A, B], "kept": [C]},
    )


@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize(
    "budget", [None, {"max_calls": 1}, {"max_calls": 5}, {"max_tokens": 900}], ids=str
)
def test_vtg_needs_no_builder_of_ours(how: str, budget: Mapping[str, int] | None) -> None:
    built, plain = script(), script()
    expected, found = (
        run(graph, how, ASKED, {"recursion_limit": 200}, context=budget)["answer"]
        for graph in (build_vtg(built.toolbox()), plain_vtg(plain.toolbox()))
    )
    assert timeless(found) == timeless(expected)
    assert (plain.calls, plain.prompts) == (built.calls, built.prompts)
    assert plain.pairs == built.pairs
    assert plain.queries == built.queries
    assert found.usage.llm_calls == sum(plain.calls.values()) > 0
    assert (expected.reason != "" and "budget" in expected.reason) == (budget is not None)
    if budget is None:
        assert [claim.verdict.tier for claim in found.claims[:3]] == ["cited", "memory", "cited"]
        assert found.claims[3].verdict.status == "unsupported"
        assert found.usage.llm_calls > 12


# Nodes in a graph of somebody else's


PAGES = [Document(id=own.id, page_content=own.text) for own in (A, B)]


class Notebook(TypedDict, total=False):
    """A state that knows nothing of citeproof, but for one draft."""

    question: str
    passages: list[Document]
    author: str
    draft: Draft | None


def foreign(model: Any) -> Any:
    """Three nodes and one of its own."""
    return chain(
        Notebook,
        search=lambda _: {"passages": PAGES},
        write=ClaimGenerator(model),
        cite=CitationGenerator(model),
        prove=GenerationVerifier(TableEntailment({(B.text, LIT): 0.9})),
        sign=lambda state: {"author": f"{state['draft'].verdict.status}: Ann"},
    ).compile()


@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize(("number", "status"), [(2, "supported"), (1, "unsupported")])
def test_nodes_fit_a_state_of_somebody_elses(how: str, number: int, status: str) -> None:
    model = ScriptedChatModel({'{"citations"': {"citations": [number]}, "": LIT})
    graph = foreign(model)
    result = run(graph, how, ASKED)
    assert set(result) == {"question", "passages", "draft", "author"}
    assert result["author"] == f"{status}: Ann"
    assert result["draft"].text == LIT
    assert result["draft"].cited == ("ab"[number - 1],)
    assert [call.role for call in model.calls] == ["claim_generator", "citation_generator"]
    assert all(A.text in call.prompt and B.text in call.prompt for call in model.calls)


def test_a_node_is_cached_by_what_it_reads() -> None:
    """Not by the cost of the nodes before it."""

    def key(state: Any) -> str:
        return repr([state["question"], state["passages"], state.get("draft")])

    calls = []
    for policy in (CachePolicy(), CachePolicy(key_func=key)):
        model = ScriptedChatModel({'{"citations"': {"citations": [1]}, "": LIT})
        builder = StateGraph(Notebook)
        builder.add_node("write", ClaimGenerator(model))
        builder.add_node("cite", CitationGenerator(model), cache_policy=policy)
        builder.add_edge(START, "write")
        builder.add_edge("write", "cite")
        serde = JsonPlusSerializer(allowed_msgpack_modules=True)
        graph: Any = builder.compile(cache=InMemoryCache(serde=serde))
        drafts = [graph.invoke({**ASKED, "passages": PAGES})["draft"] for _ in range(2)]
        assert drafts == [Draft(text=LIT, cited=("a",))] * 2
        calls.append([call.role for call in model.calls].count("citation_generator"))
    assert calls == [2, 1]


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_node_of_the_callers_reads_its_store(how: str) -> None:
    def keep(state: VTGState, runtime: Runtime) -> None:
        draft, store = state["draft"], runtime.store
        assert draft is not None
        assert store is not None
        store.put(("drafts",), "last", {"text": draft.text})

    store = InMemoryStore()
    tools = Script(claims=[BUILT, "DONE"], citations=[[1]]).toolbox()
    graph = build_vtg(tools, insert_after={"citation_generator": keep}, store=store)
    run(graph, how, ASKED)
    [kept] = store.search(("drafts",))
    assert kept.value == {"text": BUILT}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"question": 5, "passages": PAGES}, "The question is not a text: it is of type int"),
        ({"question": "", "passages": PAGES}, "The question is empty"),
        ({"question": "Who?", "passages": ["A page."]}, "A str is not a passage"),
    ],
)
def test_what_is_no_question_and_no_passage_is_told(given: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        ClaimGenerator(ScriptedChatModel([LIT])).invoke(given)


# State, forks and time travel


class Trip:
    """A run of a flow that is kept."""

    def __init__(self, name: str) -> None:
        bank = empty_bank() if name == "kept" else None
        tools = Steady(seed(name), bank).toolbox()
        self.config: Any = {"configurable": {"thread_id": "t"}}
        if name == "proof":
            self.graph: Any = build_proof(tools, checkpointer=InMemorySaver(), max_trials=1)
            claims = [claim(LIT, 1), claim(BUILT, 2), claim(KEPT, 1)]
            self.given: Any = {"question": QUESTION, "passages": [A, B], "given": claims}
        else:
            self.graph = FLOWS[name](tools, checkpointer=InMemorySaver())
            self.given = followed(name, QUESTION)

    def go(self, **more: Any) -> Any:
        """What the run gives, from its beginning."""
        return self.told(self.graph.invoke(self.given, self.config, **more))

    def history(self) -> list[StateSnapshot]:
        """The states so far, the latest first."""
        return [*self.graph.get_state_history(self.config)]

    def steps(self) -> dict[str, StateSnapshot]:
        """Node → the state before its last visit."""
        steps: dict[str, StateSnapshot] = {}
        for state in self.history():
            if state.next and state.next != (START,):
                steps.setdefault(state.next[0], state)
        return steps

    def fork(self, state: StateSnapshot, node: str, values: Any) -> Any:
        """What the run gives that goes on from a state as if a node had written to it."""
        forked = self.graph.update_state(state.config, values, as_node=node)
        return self.told(self.graph.invoke(None, forked))

    def told(self, result: Any) -> Any:
        """The answer without times; of a proof its claims."""
        answer = (result or {}).get("answer")
        return timeless(answer) if answer else (result or {}).get("claims")


EVERY = [*FLOWS, "proof"]


@pytest.mark.parametrize("form", ["objects", "JSON"])
@pytest.mark.parametrize("name", EVERY)
def test_a_run_forks_at_every_node(name: str, form: str) -> None:
    """To write to the state as a node what it has written itself changes nothing.

    JSON is what Studio sends, and any program that changes the state through a server.
    """
    trip = Trip(name)
    whole = trip.go()
    assert whole
    steps = trip.steps()
    assert steps.keys() >= own_nodes(trip.graph) - switched_off(name)
    for node, state in steps.items():
        [task] = state.tasks
        values = task.result if form == "objects" else as_json(task.result)
        assert trip.fork(state, node, values) == whole, node


def as_json(update: Any) -> Any:
    """What a node has written, without objects."""
    plain = {k: v.value if isinstance(v, Overwrite) else v for k, v in update.items()}
    return to_jsonable_python(plain)


@pytest.mark.parametrize("name", EVERY)
def test_the_state_can_be_changed_as_any_node(name: str) -> None:
    """One that was led around as well, such as the reviewer."""
    trip = Trip(name)
    trip.go()
    led_to = {str(state.parent_config): state for state in trip.history()}
    steps = trip.steps()
    last, *others = steps
    for node in own_nodes(trip.graph) - {last}:
        state = led_to[str(steps[node].config)] if node in others else steps[last]
        told = trip.fork(state, node, {"stop": "A person has looked in."})
        assert told, node
        if name in METHODS:
            assert told.reason.startswith("A person has looked in."), node


@pytest.mark.parametrize("name", EVERY)
def test_a_run_goes_on_from_any_node_that_it_is_stopped_before(name: str) -> None:
    trip = Trip(name)
    whole = trip.go()
    for node in trip.steps():
        other = Trip(name)
        other.go(interrupt_before=[node])
        assert other.graph.get_state(other.config).next == (node,)
        assert other.told(other.graph.invoke(None, other.config)) == whole, node


@pytest.mark.parametrize(
    ("name", "node"),
    [("calm", "agreement_checker"), ("r2-mga", "assessor"), ("llatrieval", "retrieval_verifier")],
)
def test_a_state_without_its_rounds_is_told(name: str, node: str) -> None:
    trip = Trip(name)
    trip.go()
    state = trip.steps()[node]
    with pytest.raises(InputError, match="its state holds no round"):
        trip.graph.update_state(state.config, {"rounds": Overwrite([])}, as_node=node)


def test_a_changed_draft_is_what_is_proved() -> None:
    """Time travel with a purpose: back to before the proof, and on with another claim."""
    built = Script(claims=[WRONG, "DONE", "DONE"], citations=[[1]], questions=[["?"]] * 9)
    graph = build_vtg(built.toolbox(), checkpointer=InMemorySaver(), max_trials=0)
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke(ASKED, config, interrupt_before=["generation_verifier"])
    state = graph.get_state(config)
    changed = {"draft": state.values["draft"].model_copy(update={"text": BUILT})}
    forked = graph.update_state(state.config, changed)
    assert graph.get_state(forked).next == ("generation_verifier",)
    answer = graph.invoke(None, forked)["answer"]
    assert (answer.text, answer.status) == ("Ann Lee built the tower [1].", "answered")


def own_nodes(graph: Any) -> set[str]:
    """The nodes of the graph itself, without the handler of errors that LangGraph adds."""
    return {name for name in graph.builder.nodes if not name.startswith("__")}


# Tools and batches


@pytest.mark.filterwarnings("ignore:This API is in beta")
@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize("name", [name for name in FLOWS if name != "oracle"])
def test_a_graph_is_a_tool_that_needs_the_question_alone(name: str, how: str) -> None:
    """But for ORACLE, which needs documents."""
    tools = Steady(seed(name), empty_bank() if name == "kept" else None).toolbox()
    tool = FLOWS[name](tools).as_tool(name="ask", description="Answers with proof.")
    assert "required" not in tool.get_input_schema().model_json_schema()
    result = run(tool, how, {"question": QUESTION})
    assert result["answer"].question == QUESTION
    assert result["answer"].text


@pytest.mark.parametrize("way", ["batch", "abatch", "chain", "with a config"])
def test_a_run_of_more_than_25_steps_ends_in_a_batch(way: str) -> None:
    """25 is the number that langchain-core hands on as if the caller had set it."""
    texts = [f"Part {n} of the tower was built in {1870 + n}." for n in range(9)]
    passages = [passage(text, id=str(n)) for n, text in enumerate(texts)]
    long = Script(
        claims=[*texts, "DONE"], citations=[[n + 1] for n in range(9)], passages={"": passages}
    )
    graph = build_vtg(long.toolbox(), k=9, max_claims=9)
    ways: dict[str, Any] = {
        "batch": lambda: graph.batch([ASKED])[0],
        "abatch": lambda: asyncio.run(graph.abatch([ASKED]))[0],
        "chain": lambda: (RunnableLambda(lambda _: ASKED) | graph).invoke(""),
        "with a config": lambda: graph.with_config(tags=["a"]).batch([ASKED])[0],
    }
    result = ways[way]()
    assert len(result["answer"].claims) == 9
    assert result["answer"].usage.llm_calls + result["answer"].usage.nli_pairs > 25
