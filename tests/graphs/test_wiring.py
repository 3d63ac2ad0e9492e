"""What every graph can do: sync, async, streams, batches, threads, resuming."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError

from citeproof import LLM, Passage, Toolbox, build_composed, build_vtg
from citeproof.errors import BudgetExceededError, ModelOutageError
from citeproof.graphs.vtg import VTGParameters
from citeproof.runtime.events import AnswerReady
from citeproof.testing import Choice, ListRetriever, ScriptedChatModel, TableEntailment, passage
from tests.chain import run
from tests.graphs.scripts import BUILT, LIT, A, B, Script

TEXT = "Ann Lee built the tower [1]. The tower was lit in 1871 [2]."


def script() -> Script:
    return Script(claims=[BUILT, LIT, "DONE"], citations=[[1], [2]])


async def test_events_tell_the_run_in_order() -> None:
    graph = build_vtg(script().toolbox())
    events: list[Any] = [e async for e in graph.astream({"question": "Who?"}, stream_mode="custom")]
    story = [e.type for e in events if not e.type.startswith(("llm_", "pairs_"))]
    assert [kind for kind in story if kind != "claim_delta"] == [
        "passages_retrieved",
        "claim_drafted",
        "claim_verified",
        "claim_accepted",
        "claim_drafted",
        "claim_verified",
        "claim_accepted",
        "answer_ready",
    ]
    first_accepted = story.index("claim_accepted")
    assert "claim_drafted" in story[first_accepted:], "the first claim comes before the last"
    deltas = "".join(e.text for e in events if e.type == "claim_delta")
    assert deltas == f"{BUILT}{LIT}DONE"
    assert isinstance(events[-1], AnswerReady)


@pytest.mark.parametrize("bound", [False, True])
def test_a_callers_own_limit_of_steps_holds(bound: bool) -> None:
    graph: Any = build_vtg(script().toolbox())
    config = RunnableConfig(recursion_limit=7)
    asked = {"question": "Who built the tower?"}
    with pytest.raises(GraphRecursionError):
        graph.with_config(config).invoke(asked) if bound else graph.invoke(asked, config)


@pytest.mark.parametrize("how", ["sync", "async"])
def test_documents_of_a_run_that_failed_are_not_those_of_the_next(how: str) -> None:
    script, saver = Script(claims=[LIT, "DONE"], citations=[[2]]), InMemorySaver()
    tools = script.toolbox()
    gone = LLM(ScriptedChatModel([ConnectionError("the server is gone")]), retries=0)
    broken = Toolbox(gone, retriever=tools.retriever, entailment=tools.entailment)
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}

    def ask(tools: Toolbox, asked: Any) -> Any:
        return run(build_vtg(tools, checkpointer=saver), how, asked, config)["answer"]

    with pytest.raises(ModelOutageError, match="the server is gone"):
        ask(broken, {"question": "Who built the tower?", "documents": [A]})
    assert script.queries == []
    answer = ask(tools, {"question": "When was it lit?"})
    assert script.queries == ["When was it lit?"]
    assert answer.passages == (B,)


class Spent:
    """A retriever whose own calls of a model are more than the budget allows."""

    async def retrieve(self, query: str, k: int = 5) -> list[Passage]:
        raise BudgetExceededError("The budget of 1 call is spent")


@pytest.mark.parametrize("asked_before", [False, True])
def test_a_run_that_its_first_node_ends_has_nothing_of_an_earlier_one(asked_before: bool) -> None:
    saver = InMemorySaver()
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    tools = script().toolbox()
    if asked_before:
        before = build_vtg(tools, checkpointer=saver).invoke({"question": "Who?"}, config)
        assert before["answer"].text == TEXT
    graph = build_vtg(tools.over(Spent()), checkpointer=saver)
    answer = graph.invoke({"question": "When?"}, config)["answer"]
    assert (answer.question, answer.status) == ("When?", "not_found")
    assert answer.reason == "The budget of 1 call is spent."
    assert (answer.claims, answer.passages, answer.text) == ((), (), "")
    assert answer.usage.llm_calls == int(asked_before), "that of the question rewriter"


@pytest.mark.parametrize("context", [{"max_trials": 1}, VTGParameters(max_trials=1)])
def test_a_run_changes_only_the_parameters_that_it_sets(context: Any) -> None:
    wrong = Script(claims=["Cy Fox built the tower."] * 9, citations=[[1]] * 9)
    built_with: Any = {"max_claims": 1, "unverified": "keep", "diverse_queries": False}
    graph = build_vtg(wrong.toolbox(), **built_with)
    answer = graph.invoke({"question": "Who built the tower?"}, context=context)["answer"]
    assert [claim.verdict.trials for claim in answer.claims] == [3]


# A run that loses its model


def cut_off() -> Toolbox:
    """A model that is gone once the first claim is proved."""
    gone = ModelOutageError("No answer", why="the server is gone", fix="Start it.")
    return Script(claims=[BUILT], citations=[[1]], lasts=2, failure=gone).toolbox()


@pytest.mark.parametrize("how", ["defaults", "context"])
def test_an_outage_may_end_the_run_with_what_is_proved(how: str) -> None:
    asked: Any = {"question": "Who built the tower?"}
    if how == "defaults":
        answer = build_vtg(cut_off(), on_outage=True).invoke(asked)["answer"]
    else:
        answer = build_vtg(cut_off()).invoke(asked, context={"on_outage": True})["answer"]
    assert (answer.text, answer.status) == ("Ann Lee built the tower [1].", "partial")
    assert "the server is gone" in answer.reason
    assert answer.usage.llm_calls == 3, "the call that failed counts"


def test_calls_of_a_graph_inside_count_when_its_model_is_lost() -> None:
    model = ScriptedChatModel([Choice(Yes=0.1, No=0.9), ConnectionError("gone")])
    tools = Toolbox(
        LLM(model, retries=0),
        retriever=ListRetriever({"": [passage("a"), passage("b")]}),
        entailment=TableEntailment({}),
    )
    graph = build_composed(tools, on_outage=True, candidates=1, k=1)
    answer = graph.invoke({"question": "Who built the tower?"})["answer"]
    assert "gone" in answer.reason
    assert answer.usage.llm_calls == 2
