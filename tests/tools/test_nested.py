"""A graph inside the run of another."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from citeproof import LLM, Answer, Usage, build_vtg
from citeproof.errors import InputError
from citeproof.prompts import Prompt
from citeproof.settings import BudgetSettings
from citeproof.testing import ScriptedChatModel
from citeproof.tools.meter import Meter, metered
from citeproof.tools.nested import nested
from tests.graphs.scripts import BUILT, Script


class Own(TypedDict, total=False):
    """The state of a graph that is none of ours."""

    question: str
    documents: list[Any]
    answer: Any


def own(step: Any) -> Any:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(Own)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_edge("step", END)
    return builder.compile(name="mine")


def said(state: Own) -> Own:
    """An answer that tells what it was asked."""
    text = f"{state['question']} {state.get('documents')}"
    return {
        "answer": Answer(question=state["question"], method="mine", status="answered", text=text)
    }


async def test_cost_and_notes_are_reported() -> None:
    graph = build_vtg(Script(claims=[BUILT, "DONE"], citations=["one", "two"]).toolbox())
    with metered(Meter()) as meter:
        answer = (await nested(graph, {"question": "Who?"}))["answer"]
    assert answer.usage.llm_calls == 4
    assert meter.used == answer.usage
    assert meter.notes == list(answer.notes) != []


@pytest.mark.parametrize("documents", [["One."], None])
async def test_the_question_and_its_documents_are_handed_on(documents: Any) -> None:
    given = {"question": "Who?", "documents": documents or [], "claims": ["not this"]}
    assert (await nested(own(said), given))["answer"].text == f"Who? {documents}"


async def test_a_graph_runs_with_its_own_parameters_and_those_that_are_given() -> None:
    told = Script(claims=["Wrong."] * 3, citations=[[1]] * 3, questions=[["?"]] * 3)
    graph = build_vtg(told.toolbox(), max_claims=1, max_trials=1)
    answer = (await nested(graph, {"question": "Who?"}, max_trials=0))["answer"]
    assert [claim.verdict.trials for claim in answer.claims] == [2]


async def test_a_graph_without_an_answer_is_an_error_that_names_it() -> None:
    for update in ({}, {"answer": "Ann Lee"}):
        with pytest.raises(InputError, match="mine cannot be part of another: it gave no Answer"):
            await nested(own(lambda _, update=update: update), {"question": "Who?"})


async def test_a_graph_that_the_budget_around_it_stops_gives_no_claim() -> None:
    llm = LLM(ScriptedChatModel(["One.", "Two."]))

    async def ask(state: Own) -> Own:
        for _ in range(2):
            await llm.text(Prompt("", "", state["question"]), max_tokens=16)
        return said(state)

    with metered(Meter(budget=BudgetSettings(calls=1))) as meter:
        answer = (await nested(own(ask), {"question": "Who?"}))["answer"]
    assert (answer.status, answer.reason) == ("abstained", "The budget of 1 calls is spent.")
    assert (answer.question, answer.method) == ("Who?", "mine")
    assert meter.used.llm_calls == 1
    assert answer.usage == Usage(), "so that nothing is counted twice"
