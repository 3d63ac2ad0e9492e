"""A question to a graph by the typed functions."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer

from citeproof import Answer, aanswer, answer, astream_events, build_vtg, verify_with
from citeproof.errors import InputError
from citeproof.runtime.events import AnswerReady, ClaimAccepted, Event
from citeproof.state import QuestionInput, Result
from citeproof.testing import passage
from tests.chain import chain
from tests.graphs.scripts import Script

QUESTION = "Who built the tower?"
BUILT = passage("Ann built the tower.")


def scripted(**parameters: Any) -> Any:
    """VTG over a script of one claim, which its passage states."""
    script = Script(claims=[BUILT.text, "DONE"], citations=[[1]], passages={"": [BUILT]})
    return build_vtg(script.toolbox(), **parameters)


def unproved(**parameters: Any) -> Any:
    """VTG over a script of a claim that nothing proves, on which a person decides."""
    wrong = "Bo built the tower."
    script = Script(claims=[wrong, wrong], citations=[[1], [1]], questions=[["Who?"]])
    return build_vtg(script.toolbox(), review=True, max_trials=0, **parameters)


def one_step(step: Any) -> Any:
    """A graph of somebody else's."""
    return chain(QuestionInput, step=step).compile()


async def test_an_answer_and_an_awaited_one() -> None:
    for told in (answer(scripted(), QUESTION), await aanswer(scripted(), QUESTION)):
        assert isinstance(told, Answer)
        assert [claim.text for claim in told.claims] == [BUILT.text]


def test_documents_context_and_config_reach_the_graph() -> None:
    graph = scripted(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    told = answer(
        graph, QUESTION, documents=["Bo painted it.", BUILT], context={"k": 1}, config=config
    )
    assert [own.text for own in told.passages] == [BUILT.text]
    assert graph.get_state(config).values["question"] == QUESTION


async def test_events_come_as_they_happen_and_end_with_the_answer() -> None:
    events = [event async for event in astream_events(scripted(), QUESTION)]
    assert any(isinstance(event, ClaimAccepted) for event in events)
    [*_, last] = events
    assert isinstance(last, AnswerReady)
    assert last.answer.claims[0].text == BUILT.text


async def test_events_of_others_are_left_out() -> None:
    def speak(_: QuestionInput) -> dict[str, Any]:
        get_stream_writer()("mine")
        return {}

    told = [event async for event in astream_events(one_step(speak), QUESTION)]
    assert told == []


def kinds(events: list[Event]) -> list[str]:
    """The kinds of the events that tell of claims, evidence and answers, in order."""
    return [event.type for event in events if event.type.startswith(("claim_", "answer", "review"))]


async def test_the_events_of_graphs_inside_a_graph_come_too() -> None:
    script = Script(claims=[BUILT.text, "DONE"], citations=[[1]], passages={"": [BUILT]})
    tools = script.toolbox()
    graph = verify_with(build_vtg(tools), tools)
    events = [event async for event in astream_events(graph, QUESTION)]
    told = [kind for kind in kinds(events) if kind != "claim_delta"]
    once = ["claim_drafted", "claim_verified", "claim_accepted"]
    assert told == [*once, *once, "answer_ready"]


async def test_a_graph_of_somebody_else_announces_the_answer_of_a_graph_inside() -> None:
    graph = chain(Result, ask=scripted(), sign=lambda _: {}).compile()
    events = [event async for event in astream_events(graph, QUESTION)]
    [*_, last] = events
    assert isinstance(last, AnswerReady)
    assert last.answer.text == "Ann built the tower [1]."
    assert kinds(events).count("answer_ready") == kinds(events).count("claim_accepted") == 1


async def test_the_events_of_a_run_end_where_it_waits_for_a_person() -> None:
    graph = chain(Result, ask=unproved(), sign=lambda _: {}).compile(InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    events = [event async for event in astream_events(graph, QUESTION, config=config)]
    assert kinds(events)[-1] == "review_requested"


def test_a_chain_is_asked_too() -> None:
    def repeat(asked: QuestionInput) -> QuestionInput:
        return asked

    assert answer(RunnableLambda(repeat) | scripted(), QUESTION).text == "Ann built the tower [1]."


def test_a_single_document_is_told_of() -> None:
    alone: Any = Document("Ann built it.")
    with pytest.raises(InputError, match="not a list: what was passed is a single Document"):
        answer(scripted(), QUESTION, documents=alone)


def test_a_wrong_option_is_named_with_its_function() -> None:
    with pytest.raises(TypeError, match=r"answer\(\) got an unexpected keyword argument 'k'"):
        answer(scripted(), QUESTION, k=3)  # type: ignore[call-arg]


def test_a_run_that_waits_for_a_person_gives_no_answer() -> None:
    graph = unproved(checkpointer=InMemorySaver())
    with pytest.raises(InputError, match="waits for a person.*Command"):
        answer(graph, QUESTION, config={"configurable": {"thread_id": "1"}})


def test_a_graph_on_a_server_answers_with_json() -> None:
    told = answer(scripted(), QUESTION)
    remote: Any = RunnableLambda(lambda _: {"answer": told.model_dump(mode="json")})
    assert answer(remote, QUESTION) == told


def test_a_graph_without_an_answer_is_told_of() -> None:
    def nothing(_: QuestionInput) -> dict[str, Any]:
        return {}

    with pytest.raises(InputError, match="returned no Answer"):
        answer(one_step(nothing), QUESTION)
