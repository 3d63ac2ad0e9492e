"""The retrieval stage fills the memory of the composed flow."""

from __future__ import annotations

import time
from typing import Any

import pytest

from citeproof.agents.retriever import RetrievalStage
from citeproof.errors import InputError
from citeproof.graphs.llatrieval import build_llatrieval
from citeproof.runtime.events import AnswerReady, PassagesRetrieved
from citeproof.settings import BudgetSettings
from citeproof.state import ComposedState, NodeCost, total_usage
from citeproof.types import Usage
from tests.agents.one_node import told
from tests.chain import chain
from tests.graphs.composed_scripts import Script
from tests.graphs.scripts import A, B, C

ASKED: Any = {"question": "Who?"}


def retrieval_stage(script: Script, **knobs: Any) -> RetrievalStage:
    return RetrievalStage(build_llatrieval(script.toolbox()), **knobs)


async def composed(node: RetrievalStage, **given: Any) -> Any:
    """What a graph of nothing but the stage is left with."""
    return await chain(ComposedState, retrieval_stage=node).compile().ainvoke({**ASKED, **given})


async def test_what_llatrieval_chooses_is_the_memory() -> None:
    script = Script(retrieval_verifier=["No", "Yes"], document_selector=[{"numbers": [3, 1]}])
    update: Any = await retrieval_stage(script, k=2)(ASKED)
    retrieval, ledger = update.pop("retrieval"), update.pop("ledger")
    assert (retrieval.verified, retrieval.passages) == (True, (C, A))
    assert update == {"passages": [C, A], "long_term": ["c", "a"]}
    usage = total_usage(ledger)
    assert (usage.llm_calls, usage.retrievals) == (3, 1)


async def test_its_knobs_overrule_those_of_the_graph() -> None:
    script = Script(retrieval_verifier=["No", "No"], document_selector=[{"numbers": [2]}])
    graph = build_llatrieval(script.toolbox(), k=3, candidates=3, max_rounds=4, verify_first=False)
    update = await RetrievalStage(graph, k=1, search_rounds=1, candidates=2)(ASKED)
    assert update["passages"] == [B]
    assert len(script.calls("document_selector")) == 1


async def test_passages_that_do_not_answer_are_not_verified_once_more() -> None:
    script = Script(retrieval_verifier=["Yes"], document_selector=[{"numbers": [3, 1]}])
    given: Any = {**ASKED, "answerable": False}
    update = await retrieval_stage(script, k=2)(given)
    assert update["passages"] == [C, A]
    assert script.counts == {"document_selector": 1, "retrieval_verifier": 1}


@pytest.mark.parametrize(
    ("limit", "calls"), [({"calls": 1}, 1), ({"tokens": 1}, 1), ({"seconds": 1e-9}, 0)]
)
async def test_the_search_keeps_to_the_budget(limit: Any, calls: int) -> None:
    script = Script(retrieval_verifier=["No"])
    left = await composed(retrieval_stage(script, k=2), budget=BudgetSettings(**limit))
    assert "budget" in left["retrieval"].reason
    assert left["passages"] == [A, B]
    assert sum(script.counts.values()) == calls


async def test_the_search_counts_what_was_spent_before_it() -> None:
    script = Script(retrieval_verifier=["No"])
    before = {"earlier:1": NodeCost(usage=Usage(llm_calls=2), notes=("one",))}
    stage = retrieval_stage(script, k=2)
    left = await composed(stage, ledger=before, budget=BudgetSettings(calls=3))
    assert left["retrieval"].reason == "The budget of 3 calls is spent."
    assert left["ledger"]["earlier:1"] == before["earlier:1"]
    assert total_usage(left["ledger"]).llm_calls == 3


@pytest.mark.parametrize("lost", [False, True])
async def test_seconds_of_the_search_count_once(lost: bool) -> None:
    script = Script(retrieval_verifier=["No" if lost else "Yes"])
    script.models["retrieval_verifier"].delay = 0.2
    stage, began = retrieval_stage(script, k=2), time.perf_counter()
    try:
        ledger = (await composed(stage))["ledger"]
    except InputError as error:  # the selector has no reply
        assert lost
        ledger = dict(error.cost)
    assert 0.2 < total_usage(ledger).seconds <= time.perf_counter() - began


async def test_a_budget_of_the_tools_does_not_limit_a_flow_that_has_another() -> None:
    script = Script(retrieval_verifier=["No", "Yes"], document_selector=[{"numbers": [3, 1]}])
    search = build_llatrieval(script.toolbox(budget=BudgetSettings(calls=1)))
    left = await composed(RetrievalStage(search, k=2), budget=BudgetSettings(calls=9))
    assert left["retrieval"].verified
    assert total_usage(left["ledger"]).llm_calls == 3


async def test_what_is_chosen_is_told_once() -> None:
    script = Script(retrieval_verifier=["Yes"])
    events = await told(retrieval_stage(script, k=2), ASKED)
    found = [event for event in events if isinstance(event, PassagesRetrieved)]
    assert found == [PassagesRetrieved(passages=(A, B))]
    assert not any(isinstance(event, AnswerReady) for event in events)
