"""Mistakes of callers: each has an error that names it, and a type checker sees it where it can.

mypy runs over this file, and `strict` refuses a `type: ignore` that is not needed. So each of
them is a test that the checker rejects the line.
"""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.graph import StateGraph

from citeproof import (
    Settings,
    Toolbox,
    answer,
    build_calm,
    build_composed,
    build_llatrieval,
    build_r2_mga,
    build_rerank,
    build_vanilla,
    build_vtg,
    remember_with,
    retrieve_with,
    verify_with,
)
from citeproof.errors import InputError, PromptError, SettingsError
from citeproof.graphs.calm import CaLMParameters
from citeproof.graphs.proof import build_proof
from citeproof.graphs.registry import METHODS
from citeproof.memory.bank import Bank
from citeproof.state import VTGState
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment, passage

GIVEN = {"question": "Who?", "documents": ["Ann."]}


@pytest.fixture
def tools() -> Toolbox:
    return Toolbox(
        ScriptedChatModel({"": "The passages give no answer."}),
        entailment=TableEntailment(lambda *_: 0.1),
    )


def test_a_misspelled_parameter(tools: Toolbox) -> None:
    with pytest.raises(SettingsError, match="Unknown parameter max_trial"):
        build_vtg(tools, max_trial=1)  # type: ignore[call-arg]
    with pytest.raises(SettingsError, match="Unknown parameter treshold"):
        build_calm(tools, treshold=0.5)  # type: ignore[call-arg]
    with pytest.raises(SettingsError, match="Unknown parameter max_claims"):
        build_vanilla(tools, max_claims=2)  # type: ignore[call-arg]
    with pytest.raises(SettingsError, match="Unknown parameter serch"):
        build_composed(tools, serch=False)  # type: ignore[call-arg]
    with pytest.raises(SettingsError, match="Unknown parameter unverifed"):
        verify_with(build_vanilla(tools), tools, unverifed="drop")  # type: ignore[call-arg]


def test_a_parameter_of_a_composed_graph(tools: Toolbox, bank: Bank) -> None:
    tools.bank = bank
    draft = build_vanilla(tools)
    with pytest.raises(SettingsError, match="unverified cannot be"):
        verify_with(draft, tools, unverified="hide")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="Unknown parameter least_score"):
        remember_with(draft, tools, least_score=0.5)  # type: ignore[call-arg]
    with pytest.raises(SettingsError, match="namespace cannot be"):
        remember_with(draft, tools, namespace="a b")


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ({"max_trial": 0}, "Unknown parameter max_trial. Did you mean max_trials"),
        ({"xyzzy": 0}, "Unknown parameter xyzzy. Known: "),
        ({"k": 0}, "The parameter k cannot be 0: Input should be greater than or equal to 1"),
        ("k=3", "The context of the run is not used: it is of type str"),
        (CaLMParameters(), "The context of the run is not used: it is of type CaLMParameters"),
    ],
    ids=str,
)
def test_wrong_parameters_of_a_run(tools: Toolbox, context: Any, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        answer(build_vtg(tools), "Who?", documents=["Ann."], context=context)


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({"calls": 0}, "budget.calls = 0 is not allowed"),
        ({"max_calls": 3}, "no setting budget.max_calls .* Did you mean budget.calls"),
        (3, "budget .* is a section, not a value of type int"),
    ],
    ids=str,
)
def test_a_wrong_budget(budget: Any, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        Toolbox(None, budget=budget)


def test_a_prompt_that_cannot_replace_another(tools: Toolbox) -> None:
    for name, said in (
        ("claim_generator", "it lacks {"),
        ("claim_generater", "Did you mean claim_generator"),
    ):
        with pytest.raises(PromptError, match=said):
            build_vtg(tools, prompts={name: "Write."})
        with pytest.raises(PromptError, match=said):
            answer(build_vtg(tools), "Who?", context={"prompts": {name: "Write."}})


@pytest.mark.parametrize("wrong", [build_vanilla, None, StateGraph(VTGState)])
def test_what_is_no_graph(tools: Toolbox, bank: Bank, wrong: Any) -> None:
    tools.bank = bank
    for combine in (verify_with, remember_with, retrieve_with):
        with pytest.raises(SettingsError, match="A (function|NoneType|StateGraph) is not a graph"):
            combine(wrong, tools)


def test_a_graph_that_chooses_no_passages(tools: Toolbox) -> None:
    with pytest.raises(SettingsError, match="vtg cannot choose passages. Pass a graph of build_l"):
        retrieve_with(build_vtg(tools), tools)


def test_a_chain_is_a_graph(tools: Toolbox) -> None:
    chain = build_vanilla(tools) | RunnableLambda(lambda result: {"answer": result["answer"]})
    assert verify_with(chain, tools).name == "RunnableSequence+proof"


def test_a_parameter_of_the_wrong_type(tools: Toolbox) -> None:
    with pytest.raises(SettingsError, match="k cannot be 'five'"):
        build_llatrieval(tools, k="five")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="gate cannot be 'none'"):
        build_r2_mga(tools, gate="none")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="definition cannot be 'ours'"):
        build_rerank(tools, definition="ours")  # type: ignore[arg-type]


def test_right_parameters_are_taken(tools: Toolbox) -> None:
    build_vtg(tools, max_trials=1, unverified="drop", max_seconds=60, prompts={})
    build_composed(tools, k=3, search=False, assess="nli")
    build_proof(tools, queries=1)


def test_what_can_be_searched_is_taken() -> None:
    """By the type checker, too; `tests/tools/test_retrieval.py` searches them."""
    for built in (
        Toolbox(None, retriever=["Ann."]),
        Toolbox(None, retriever=[passage("Ann.")]),
        Toolbox(None, retriever=ListRetriever([])),
        Toolbox(None, retriever=InMemoryVectorStore(DeterministicFakeEmbedding(size=2))),
        Toolbox(None).over(["Ann."]),
    ):
        assert built.retriever is not None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"qestion": "Who?"}, "unknown key 'qestion'. Did you mean 'question'"),
        ({**GIVEN, "docs": []}, "unknown key 'docs'. (Did you mean|The graph reads)"),
        ({**GIVEN, "max_calls": 2}, "It is a parameter: pass context="),
        ("hello", "not a dict: it is of type str. Pass a dict with 'question'"),
        ([{"question": "Who?"}], "not a dict: it is of type list"),
        ({"question": 3}, "question is not a text: it is of type int"),
        ({"question": "Who?", "documents": "Ann."}, "not a list: what was passed is a single str"),
        ({"question": "Who?", "documents": passage("Ann.")}, "not a list: .* a single Passage"),
    ],
)
def test_a_wrong_input_is_told_of(method: str, given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        METHODS[method].sketch().invoke(given)


async def test_a_wrong_input_is_told_of_where_the_run_is_awaited(tools: Toolbox) -> None:
    graph = build_vtg(tools)
    with pytest.raises(InputError, match="unknown key 'qestion'"):
        await graph.ainvoke({"qestion": "Who?"})  # type: ignore[call-overload]
    with pytest.raises(InputError, match="unknown key 'qestion'"):
        [event async for event in graph.astream({"qestion": "Who?"})]  # type: ignore[call-overload]
    with pytest.raises(InputError, match="not a dict"):
        graph.batch(["hello"])  # type: ignore[list-item]
    with pytest.raises(InputError, match="unknown key 'qestion'"):
        graph.with_config(tags=["a"]).with_config(tags=["b"]).invoke({"qestion": "Who?"})  # type: ignore[call-overload]


def test_all_that_a_graph_reads_may_be_its_input() -> None:
    graph = METHODS["vtg"].sketch()
    keys = graph.get_input_jsonschema()["properties"]
    with pytest.raises(InputError) as caught:
        graph.invoke({"xyzzy": 1})
    assert [key for key in keys if repr(key) not in str(caught.value)] == []


def test_the_state_of_a_graph_around_may_hold_other_keys(tools: Toolbox) -> None:
    told = answer(verify_with(build_vanilla(tools), tools), "Who?", documents=["Ann."])
    assert told.status == "not_found"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"llm": "x"}, r"llm = 'x' is not allowed.*Settings\.load\(llm=…\)"),
        ({"llm": {"modl": "x"}}, r"no setting llm\.modl .*Did you mean llm\.model"),
        ({"lm": "x"}, "no setting lm .*Did you mean llm"),
        ({"llm": 3}, "llm .* is a section, not a value of type int"),
        ({"budget": {"calls": 0}}, "budget.calls = 0 is not allowed"),
    ],
)
def test_wrong_settings_are_told_of(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings(**given)


def test_a_key_is_not_repeated() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings(**{"llm": {"api_key": ["sk-secret"], "retries": -1}})
    assert "sk-secret" not in str(caught.value)
    assert caught.value.__cause__ is None
