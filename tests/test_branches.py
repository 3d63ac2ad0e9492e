"""Nodes and graphs in branches that run at once, with retries and people who are asked."""

from __future__ import annotations

import operator
from typing import Annotated, Any
from unittest.mock import AsyncMock, Mock

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, RetryPolicy, Send, interrupt
from typing_extensions import TypedDict

from citeproof import Answer, Passage, Toolbox, build_vtg
from citeproof.agents.retriever import Retriever
from citeproof.errors import RetrievalError
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment
from tests.chain import chain
from tests.graphs.scripts import BUILT, A, B
from tests.test_foreign_states import AsDataclass, AsModel, Written

ASKED: Any = {"question": "Who built the tower?"}


class Questions(TypedDict, total=False):
    questions: list[str]
    passages: Annotated[list[Passage], operator.add]


@pytest.mark.parametrize("kind", [dict, AsDataclass, AsModel])
def test_a_node_searches_for_several_questions_at_once(kind: Any) -> None:
    builder: Any = StateGraph(Questions)
    builder.add_node("find", Retriever(ListRetriever({"built": [A], "lit": [B]})))
    sent = [kind(question=f"Who {word} it?") for word in ("lit", "built")]
    builder.add_conditional_edges(START, lambda _: [Send("find", one) for one in sent], ["find"])
    assert builder.compile().invoke({"questions": []})["passages"] == [B, A]


class Answers(TypedDict, total=False):
    questions: list[str]
    answers: Annotated[list[Answer], operator.add]
    answer: Annotated[Answer, lambda _, new: new]


@pytest.mark.parametrize("way", ["graph", "function"])
def test_a_graph_answers_several_questions_at_once(way: str) -> None:
    """Each may use the budget of the run, and their events go to its stream."""
    script: Any = {"citation_generator": {"citations": [1]}, "": BUILT}
    tools = Toolbox(
        ScriptedChatModel(script), retriever=[A.text], entailment=TableEntailment(lambda *_: 0.9)
    )
    vtg = build_vtg(tools, max_claims=1)
    builder: Any = StateGraph(Answers)
    ask = {"graph": vtg, "function": lambda state: {"answers": [vtg.invoke(state)["answer"]]}}
    builder.add_node("ask", ask[way])
    sent = [{"question": f"Who built tower {n}?"} for n in (1, 2)]
    builder.add_conditional_edges(START, lambda _: [Send("ask", one) for one in sent], ["ask"])
    graph = builder.compile()
    modes = {"stream_mode": "custom", "subgraphs": True, "context": {"max_calls": 3}}
    events = [part for _, part in graph.stream({"questions": []}, **modes)]
    accepted = [one.claim.text for one in events if one.type == "claim_accepted"]
    assert accepted == [BUILT, BUILT]
    result = graph.invoke({"questions": []}, context={"max_calls": 3})
    if way == "function":
        assert [one.question for one in result["answers"]] == [one["question"] for one in sent]
        assert {one.status for one in result["answers"]} == {"answered"}


def test_a_retriever_may_ask_a_person() -> None:
    """What stops the run is no failure of the retriever."""

    class Asks:
        async def retrieve(self, query: str, k: int) -> list[Passage]:
            return {"a": [A], "b": [B]}[interrupt("Which one?")]

    graph = chain(Written, find=Retriever(Asks())).compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "t"}}
    [asked] = graph.invoke(ASKED, thread)["__interrupt__"]
    assert asked.value == "Which one?"
    assert graph.invoke(Command(resume="b"), thread)["passages"] == [B]


@pytest.mark.parametrize("retry_on", [None, RetrievalError])
def test_a_retry_policy_names_the_errors(retry_on: Any) -> None:
    policy = {"retry_on": retry_on} if retry_on else {}
    builder: Any = StateGraph(Written)
    found = AsyncMock(side_effect=[OSError("The disk is gone"), [A]])
    retriever = Mock(spec=["retrieve"], retrieve=found)
    again = RetryPolicy(initial_interval=0.0, **policy)
    builder.add_node("find", Retriever(retriever), retry_policy=again)
    graph = builder.set_entry_point("find").compile()
    if retry_on:
        assert graph.invoke(ASKED)["passages"] == [A]
    else:
        with pytest.raises(RetrievalError, match="The disk is gone"):
            graph.invoke(ASKED)


def test_several_runs_that_wait_are_resumed_by_their_ids() -> None:
    model = ScriptedChatModel({"citation_generator": {"citations": [1]}, "": BUILT})
    tools = Toolbox(model, retriever=[A.text], entailment=TableEntailment({}))
    builder: Any = StateGraph(Answers)
    builder.add_node("ask", build_vtg(tools, max_claims=1, max_trials=0, review=True))
    sent = [{"question": f"Who built tower {n}?"} for n in (1, 2)]
    builder.add_conditional_edges(START, lambda _: [Send("ask", one) for one in sent], ["ask"])
    graph = builder.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "t"}}
    waiting = graph.invoke({"questions": []}, thread)["__interrupt__"]
    assert len(waiting) == 2
    decisions = {one.id: {"decision": "drop"} for one in waiting}
    assert graph.invoke(Command(resume=decisions), thread)["answer"].status == "not_found"
