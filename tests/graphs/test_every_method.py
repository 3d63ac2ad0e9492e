"""What every method does alike: sync, async, threads, batches, strict checkpoints, bad input."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from citeproof import Toolbox
from citeproof.errors import InputError, SettingsError
from citeproof.graphs.registry import METHODS
from citeproof.memory.bank import Bank
from citeproof.settings import BudgetSettings
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment, passage
from tests.agents.one_node import Log
from tests.graphs.scripts import timeless
from tests.robustness.chaos import FACTS, QUESTION, Steady
from tests.robustness.flows import ASKING, FLOWS, asked, followed, seed

LATER = "When was it lit?"
EVERY = [name for name in FLOWS if name != "kept"]
"""The flows that need no memory bank."""
SEARCHING = [name for name in METHODS if name not in ("closedbook", "oracle")]
THREAD: Any = {"configurable": {"thread_id": "t"}}


def built(name: str, **options: Any) -> tuple[Any, Steady]:
    """A flow over tools that always say the same to the same."""
    tools = Steady(seed(name))
    return FLOWS[name](tools.toolbox(), **options), tools


def left(result: dict[str, Any]) -> dict[str, Any]:
    """A result without what differs between two runs of one question."""
    timed = {"ledger": None, "messages": None, "answer": timeless(result["answer"])}
    return {**result, **timed}


@pytest.mark.parametrize("name", EVERY)
def test_invoke_and_ainvoke_give_the_same(name: str) -> None:
    graph, tools = built(name)
    result = graph.invoke(asked(name, QUESTION))
    assert set(result) - {"rounds", "retrieval", "case_id"} == {
        *("question", "messages", "ledger", "answer")
    }
    assert result["answer"].usage.llm_calls == tools.asked.total()
    assert result["answer"].claims
    later = asyncio.run(built(name)[0].ainvoke(asked(name, QUESTION)))
    assert left(later) == left(result)


@pytest.mark.parametrize("name", EVERY)
def test_a_checkpointer_keeps_all_in_types_that_the_state_declares(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """In strict mode, which the tests are in, LangGraph reads back no others."""
    graph, _ = built(name, checkpointer=InMemorySaver())
    result = graph.invoke(followed(name, QUESTION), THREAD)
    kept = graph.get_state(THREAD).values
    assert {key: kept[key] for key in result} == result
    assert caplog.text == "", "such as of a type that was not read back"


@pytest.mark.parametrize("name", EVERY)
def test_a_second_question_on_a_thread_starts_from_nothing(name: str) -> None:
    graph, _ = built(name, checkpointer=InMemorySaver())
    graph.invoke(asked(name, QUESTION), THREAD)
    second, fresh = (
        graph.invoke(asked(name, LATER), THREAD),
        built(name)[0].invoke(asked(name, LATER)),
    )
    for one in (second, fresh):
        one["answer"] = one["answer"].model_copy(update={"usage": None})
    assert {**second, "ledger": 0, "messages": 0} == {**fresh, "ledger": 0, "messages": 0}


@pytest.mark.parametrize("name", EVERY)
def test_what_is_cited_is_recorded_for_the_method(name: str) -> None:
    log = Log()
    graph = FLOWS[name](Steady(seed(name), evidence=log).toolbox())
    answer = graph.invoke(asked(name, QUESTION))["answer"]
    cited = [(claim.text, claim.verdict.status) for claim in answer.claims if claim.citations]
    assert [(one["claim"], one["status"]) for one in log.records] == cited
    assert cited or name in ("llatrieval", "quote-first"), "with their seeds nothing is cited"
    assert {one["method"] for one in log.records} <= {answer.method}


@pytest.mark.parametrize("name", [name for name in ASKING if name != "kept"])
def test_the_toolboxs_budget_holds_where_the_graph_sets_none(name: str) -> None:
    tools = Steady(seed(name)).toolbox()
    tools.budget = BudgetSettings(seconds=1e-9)
    answer = FLOWS[name](tools).invoke(asked(name, QUESTION))["answer"]
    assert (answer.claims, answer.usage.llm_calls) == ((), 0)
    assert answer.reason == "The budget of 1e-09 seconds is spent."


@pytest.mark.parametrize("way", ["batch", "abatch"])
@pytest.mark.parametrize("name", ["vtg", "llatrieval", "composed", "vanilla"])
def test_a_batch_of_questions_runs_at_once_without_mixing(name: str, way: str) -> None:
    def reply(prompt: str) -> str:
        for words, said in (
            ('{"citations"', '{"citations": [1]}'),
            ('{"numbers"', '{"numbers": [1]}'),
            ("Answer Yes or No", "Yes"),
            ("Your reply so far", "DONE"),
        ):
            if words in prompt:
                return said
        return f"{prompt.rpartition('Where is ')[2].partition('?')[0]} is here [1]."

    def find(query: str) -> list[Any]:
        return [passage(f"{query.partition('Where is ')[2].rstrip('?')} is here.")]

    tools = Toolbox(
        ScriptedChatModel(reply),
        retriever=ListRetriever(find),
        entailment=TableEntailment(lambda premise, claim: float(claim in premise)),
    )
    graph = METHODS[name].build(tools)
    given = [{"question": f"Where is Name{n}?"} for n in range(12)]
    results = graph.batch(given) if way == "batch" else asyncio.run(graph.abatch(given))
    assert [one["answer"].text for one in results] == [f"Name{n} is here [1]." for n in range(12)]
    assert len({one["answer"].usage.llm_calls for one in results}) == 1


# Input and parameters


@pytest.mark.parametrize("name", SEARCHING)
def test_no_passages_is_an_abstention_without_a_call(name: str) -> None:
    tools = Toolbox(ScriptedChatModel([]), retriever=ListRetriever([]))
    result = METHODS[name].build(tools).invoke({"question": QUESTION})
    answer = result["answer"]
    assert (answer.status, answer.claims, answer.usage.llm_calls) == ("not_found", (), 0)
    assert answer.reason == "No passage was found for the question."
    assert not result.get("case_id")
    assert not result.get("rounds")


@pytest.mark.parametrize("question", [" \n", None])
@pytest.mark.parametrize("name", FLOWS)
def test_an_empty_question_is_an_error(name: str, question: str | None, bank: Bank) -> None:
    tools = Steady(seed(name), bank)
    with pytest.raises(InputError, match="question is empty"):
        FLOWS[name](tools.toolbox()).invoke({**asked(name, ""), "question": question})
    assert not tools.asked


@pytest.mark.parametrize("name", [*SEARCHING, "oracle"])
def test_neither_retriever_nor_documents_is_an_error(name: str) -> None:
    graph = METHODS[name].build(Toolbox(ScriptedChatModel([])))
    with pytest.raises(InputError, match="nothing to answer from"):
        graph.invoke({"question": QUESTION})


@pytest.mark.parametrize("name", EVERY)
def test_documents_with_the_question_replace_the_index(name: str) -> None:
    tools = Steady(seed(name)).toolbox()
    index = ListRetriever([])
    documents = [*FACTS[:3], {"text": FACTS[3], "title": "Storm"}]
    answer = FLOWS[name](tools.over(index)).invoke({"question": QUESTION, "documents": documents})
    assert index.queries == []
    assert {passage.text for passage in answer["answer"].passages} <= set(FACTS[:4])


@pytest.mark.parametrize(
    ("name", "parameters", "told"),
    [
        ("vtg", {"max_trials": -1}, "max_trials cannot be -1"),
        ("calm", {"theta": 0.5}, "Unknown parameter theta.*threshold"),
        ("calm", {"pool": 0}, "pool cannot be 0"),
        ("calm", {"threshold": 0.0}, "threshold cannot be 0"),
        ("calm", {"form": "poem"}, "form cannot be 'poem'"),
        ("r2-mga", {"rank": 6}, "rank cannot be 6"),
        ("composed", {"namespace": "a b"}, "namespace cannot be 'a b'"),
    ],
)
def test_unknown_and_impossible_parameters_are_errors(
    name: str, parameters: dict[str, Any], told: str
) -> None:
    with pytest.raises(SettingsError, match=told):
        METHODS[name].sketch(**parameters)


@pytest.mark.parametrize("name", SEARCHING)
def test_the_schema_tells_the_parameters_that_the_graph_was_built_with(name: str) -> None:
    schema = METHODS[name].sketch(k=2).get_context_jsonschema()
    assert schema["properties"]["k"]["default"] == 2
