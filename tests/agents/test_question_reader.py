"""The question reader starts a run from nothing but its question."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from citeproof.agents.question_reader import QuestionReader
from citeproof.parameters import Parameters
from citeproof.settings import BudgetSettings
from citeproof.state import (
    BaselineState,
    CaLMState,
    ComposedState,
    KeptState,
    LLatrievalState,
    NodeCost,
    R2MGAState,
    VTGState,
)
from citeproof.testing import passage
from citeproof.types import Answer, Passage, Usage
from tests.agents.states import BUILT, FAULTY, A, claim, state
from tests.chain import chain

ASKED: Any = {"question": "Who?"}
THREAD: Any = {"configurable": {"thread_id": "t"}}
TEXTS = ("demonstration", "query", "case_id", "stop")
CLAIMS = ("claims", "verifier_claims", "kept", "given", "first")
LISTS = ("long_term", "short_term", "rejected", "dropped", "first_dropped", "waiting")
EMPTY: dict[str, Any] = {
    **{key: [] for key in (*CLAIMS, *LISTS, "samples", "rounds", "swaps")},
    **dict.fromkeys(TEXTS, ""),
    **dict.fromkeys(("draft", "retrieval", "answerable", "doubt")),
    "shown": 0,
    "summaries": {},
    "short_forms": {},
}


ALONE: dict[str, Any] = {"follows_up": False, "earlier": []}
"""A question without turns before it."""
ANSWER = Answer(question="Who?", method="mine", status="not_found")


def reading(kind: Any, *, checkpointer: Any = None, node: QuestionReader | None = None) -> Any:
    """A graph of nothing but the reader."""
    return chain(kind, question_reader=node or QuestionReader()).compile(checkpointer=checkpointer)


def asked(**changes: Any) -> Any:
    return {**ASKED, **changes}


# What an earlier run has left


@pytest.mark.parametrize(
    "kind",
    [VTGState, CaLMState, LLatrievalState, R2MGAState, BaselineState, ComposedState, KeptState],
)
async def test_each_methods_state_is_empty_for_the_next_question(kind: Any) -> None:
    """Each key is given something first, so one that the reader forgets is seen."""
    left: dict[str, Any] = {
        **state(),
        "shown": 3,
        "samples": [[claim(BUILT)]],
        "rounds": [FAULTY],
        "swaps": [FAULTY],
        "retrieval": FAULTY,
        "answer": ANSWER,
        "summaries": {"a": "x"},
        "short_forms": {"a": "x"},
        "budget": BudgetSettings(calls=2),
        "answerable": True,
        "corpus": [A],
        "messages": [HumanMessage("Who built it?")],
        "asked": "Who built it?",
        "follows_up": True,
        "earlier": [A],
        **{key: [claim(BUILT)] for key in CLAIMS},
        **{key: ["x"] for key in LISTS},
        **dict.fromkeys((*TEXTS, "doubt"), "x"),
        "ledger": {"old:1": NodeCost()},
    }
    graph = reading(kind, checkpointer=InMemorySaver())
    keys = graph.get_input_jsonschema()["properties"].keys()
    before = {key: value for key, value in left.items() if key in keys}
    assert before.keys() >= keys - {"documents"}
    await graph.aupdate_state(THREAD, before, as_node="__start__")
    await graph.ainvoke({"question": "And who lit it?"}, THREAD)
    after = (await graph.aget_state(THREAD)).values
    [call] = after.pop("ledger")
    assert [message.text for message in after.pop("messages")] == [
        "Who built it?",
        "And who lit it?",
    ]
    assert call.startswith("question_reader:")
    assert after == {
        **ALONE,
        "question": "And who lit it?",
        "asked": "And who lit it?",
        "passages": [],
        "corpus": [],
        "documents": [],
        "answer": None,
        "budget": None,
        **{key: value for key, value in EMPTY.items() if key in keys},
    }


async def test_a_callers_node_that_changes_the_state_in_place_changes_no_other_run() -> None:
    def note(state: Any) -> dict[str, Any]:
        state["dropped"].append("x")
        return {}

    graph = chain(VTGState, question_reader=QuestionReader(), note=note).compile()
    for _ in range(2):
        left = await graph.ainvoke(ASKED)
        assert left["dropped"] == ["x"]


# Documents


async def test_the_documents_become_the_corpus() -> None:
    documents = ["One.", {"text": "Two.", "title": "T", "id": "2"}, A]
    update = await QuestionReader()(asked(documents=documents))
    assert update["corpus"] == [
        passage("One.", source="document 1"),
        Passage(id="2", title="T", text="Two."),
        A,
    ]
    assert update["documents"] == documents, "the next step may read them as well"


# Budgets


@pytest.mark.parametrize(
    ("node", "context", "budget"),
    [
        (QuestionReader(), None, None),
        (
            QuestionReader(),
            {"max_calls": 2, "max_tokens": 300},
            BudgetSettings(calls=2, tokens=300),
        ),
        (
            QuestionReader(parameters=Parameters),
            Parameters(max_calls=2),
            BudgetSettings(calls=2),
        ),
    ],
)
async def test_the_budget_is_that_of_the_question_and_of_none_before_it(
    node: QuestionReader, context: Any, budget: BudgetSettings | None
) -> None:
    graph = reading(VTGState, checkpointer=InMemorySaver(), node=node)
    await graph.ainvoke(ASKED, THREAD, context={"max_calls": 1, "max_seconds": 1.0})
    assert (await graph.ainvoke(ASKED, THREAD, context=context))["budget"] == budget


class Frugal(Parameters):
    max_calls: int | None = 5
    max_tokens: int | None = 50


async def test_the_budget_of_a_subgraph_is_its_own_and_that_around_it() -> None:
    """Two calls and 30 tokens were spent around it."""
    usage = Usage(llm_calls=2, prompt_tokens=20, completion_tokens=10)
    inner = reading(VTGState, node=QuestionReader(parameters=Frugal))
    around = {
        "ledger": {"earlier:1": NodeCost(usage=usage)},
        "budget": BudgetSettings(calls=9, tokens=60, seconds=3.0),
    }
    left = await chain(VTGState, inner=inner).compile().ainvoke(asked(**around))
    assert left["budget"] == BudgetSettings(calls=7, tokens=60, seconds=3.0)


# Inside of another graph


async def test_a_subgraph_takes_over_the_corpus_around_it_and_leaves_its_ledger() -> None:
    around = {"earlier:1": NodeCost(usage=Usage(llm_calls=2))}
    ledgers: list[Any] = []

    def look(state: VTGState) -> None:
        ledgers.append(state["ledger"])

    inner = chain(VTGState, question_reader=QuestionReader(), look=look).compile()
    graph = chain(VTGState, inner=inner).compile()
    left = await graph.ainvoke(asked(corpus=[A], ledger=around))
    assert left["corpus"] == [A]
    assert [call.partition(":")[0] for call in left["ledger"]] == ["earlier", "inner"]
    assert left["ledger"]["earlier:1"] == around["earlier:1"]
    [seen] = ledgers
    assert next(iter(seen)) == "earlier:1", "so that its nodes know what was spent"
    alone = await reading(VTGState).ainvoke(asked(corpus=[A], ledger=around))
    assert alone["corpus"] == [], "of the outermost graph it is an earlier run's"
    assert "earlier:1" not in alone["ledger"]
