"""A graph that a tool runs from within a node."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from typing_extensions import TypedDict

from citeproof import Answer, build_vtg
from citeproof.errors import InputError
from citeproof.runtime.events import AnswerReady, ClaimAccepted
from citeproof.runtime.meter import Meter, use_meter
from citeproof.tools.retrieval.llatrieval_retriever import run_apart
from tests.chain import chain
from tests.graphs.scripts import BUILT, Script


class Own(TypedDict, total=False):
    """The state of a graph that is none of ours."""

    question: str
    answer: Any
    found: list[Any]


def own(step: Any, **options: Any) -> Any:
    return chain(Own, step=step).compile(name="mine", **options)


def said(state: Own) -> Own:
    """An answer that tells what it was asked."""
    question = state["question"]
    return {"answer": Answer(question=question, method="mine", status="answered", text=question)}


async def test_cost_and_notes_are_reported_but_for_the_retrieval_that_the_caller_counts() -> None:
    graph = build_vtg(Script(claims=[BUILT, "DONE"], citations=["one", "two"]).toolbox())
    with use_meter(Meter()) as meter:
        answer = (await run_apart(graph, "Who?"))["answer"]
    assert (answer.usage.llm_calls, answer.usage.retrievals) == (4, 1)
    assert meter.used == answer.usage.model_copy(update={"retrievals": 0})
    assert meter.notes == list(answer.notes) != []


async def test_a_graph_runs_with_its_own_parameters_and_those_that_are_given() -> None:
    told = Script(claims=["Wrong."] * 3, citations=[[1]] * 3, questions=[["?"]] * 3)
    graph = build_vtg(told.toolbox(), max_claims=1, max_trials=1)
    answer = (await run_apart(graph, "Who?", max_trials=0))["answer"]
    assert [claim.verdict.trials for claim in answer.claims] == [2]


async def test_a_graph_without_an_answer_is_an_error_that_names_it() -> None:
    for update in ({}, {"answer": "Ann Lee"}):
        with pytest.raises(InputError, match="mine cannot be searched with: it gave no Answer"):
            await run_apart(own(lambda _, update=update: update), "Who?")


@pytest.mark.parametrize("how", ["sync", "async"])
def test_inside_a_node_it_is_no_part_of_the_run(how: str) -> None:
    """Several runs at once share no state, keep no checkpoint, and tell their events."""
    inner_saver, saver = InMemorySaver(), InMemorySaver()
    script = Script(claims=[BUILT, "DONE"] * 2, citations=[[1], [1]])
    graph = build_vtg(script.toolbox(), checkpointer=inner_saver)

    async def ask(_: Own) -> Own:
        found = [(await run_apart(graph, "Who?"))["answer"].text]
        results = await asyncio.gather(*(run_apart(own(said), text) for text in "ab"))
        return {"found": [*found, *(result["answer"].text for result in results)]}

    def ask_from_a_thread(state: Own) -> Own:
        return asyncio.run(ask(state))

    outer = own(ask_from_a_thread if how == "sync" else ask, checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}

    async def stream() -> list[Any]:
        return [
            part async for part in outer.astream({"question": "?"}, config, stream_mode="custom")
        ]

    events: list[Any]
    if how == "sync":
        events = list(outer.stream({"question": "?"}, config, stream_mode="custom"))
    else:
        events = asyncio.run(stream())
    assert outer.get_state(config).values["found"] == [f"{BUILT[:-1]} [1].", "a", "b"]
    assert [event.claim.text for event in events if isinstance(event, ClaimAccepted)] == [BUILT]
    assert not [event for event in events if isinstance(event, AnswerReady)]
    assert list(inner_saver.list(None)) == []
    assert {kept.config["configurable"]["checkpoint_ns"] for kept in saver.list(None)} == {""}
