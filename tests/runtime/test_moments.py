from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from langgraph.types import Overwrite

from citeproof.console.timeline import gather_steps
from citeproof.runtime.events import ClaimDelta
from citeproof.runtime.moments import STREAM, NodeFinished, NodeStarted, brief, observe
from citeproof.state import NodeCost
from citeproof.types import Claim, Usage
from tests.chain import chain
from tests.graphs.scripts import A
from tests.watching import started, watch


class State(TypedDict, total=False):
    question: str
    found: list[str]


def graph_of(node: Any, name: str = "finder") -> Any:
    return chain(State, **{name: node}).compile()


async def test_any_graph_tells_what_its_nodes_read_and_wrote() -> None:
    moments = await watch(graph_of(lambda state: {"found": ["A", "B"]}), {"question": "Who?"})
    [began, ended] = [moment.event for moment in moments]
    assert isinstance(began, NodeStarted)
    assert began == NodeStarted(id=began.id, node="finder", reads={"question": "Who?"})
    assert ended == NodeFinished(id=began.id, node="finder", writes={"found": "A; B"})
    assert moments[0].at < moments[1].at


async def test_a_node_of_a_graph_inside_says_where_it_is() -> None:
    inner = graph_of(lambda state: {"found": ["A"]})
    moments = await watch(graph_of(inner, "retrieval_stage"), {"question": "Who?"})
    assert started(moments) == ["retrieval_stage", "finder"]
    [outer, inside, *_] = moments
    assert outer.namespace == ()
    assert isinstance(outer.event, NodeStarted)
    assert inside.namespace == (f"retrieval_stage:{outer.event.id}",)


async def test_graphs_inside_one_node_are_told_apart() -> None:
    inner = graph_of(lambda state: {"found": ["A"]})

    async def ask_twice(state: State) -> Any:
        for _ in range(2):
            await inner.ainvoke(state)

    moments = await watch(graph_of(ask_twice, "retrieval_stage"), {"question": "Who?"})
    assert isinstance(moments[0].event, NodeStarted)
    outer = f"retrieval_stage:{moments[0].event.id}"
    places = [own.namespace for own in moments if isinstance(own.event, NodeStarted)]
    assert places == [(), (outer,), (outer, "1")]
    [step] = gather_steps(moments)
    assert [own.node for own in step.all()] == ["retrieval_stage", "finder", "finder"]


async def test_the_error_of_a_node_is_told_without_keys() -> None:
    def fail(state: State) -> Any:
        raise ValueError("no key sk-abcdefgh1234 for \udcff")

    seen: list[Any] = []

    async def run() -> None:
        async for part in graph_of(fail).astream({}, **STREAM):
            seen.append(observe(*part))

    with pytest.raises(ValueError, match="no key"):
        await run()
    assert seen[-1].event.error == "ValueError: no key *** for ?"


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_cost_of_a_task_is_found_among_those_of_a_run(wrapped: bool) -> None:
    usage = Usage(llm_calls=2)
    ledger = {"m:0": NodeCost(usage=Usage(llm_calls=7)), "n:1": NodeCost(usage=usage)}
    result = {"ledger": Overwrite(ledger) if wrapped else ledger, "found": Overwrite(["A"])}
    told: dict[str, Any] = {
        "id": "1",
        "name": "n",
        "result": result,
        "error": None,
        "interrupts": [],
    }
    moment = observe((), "tasks", told)
    assert moment is not None
    assert moment.event == NodeFinished(id="1", node="n", writes={"found": "A"}, usage=usage)


def test_what_is_no_task_and_no_event_of_ours_is_no_moment() -> None:
    assert observe((), "custom", {"progress": 3}) is None
    assert observe((), "values", {"question": "?"}) is None
    moment = observe(("a:1",), "custom", ClaimDelta(text="x"))
    assert moment is not None
    assert (moment.namespace, moment.event) == (("a:1",), ClaimDelta(text="x"))


def test_an_input_of_any_kind_is_shown() -> None:
    told: dict[str, Any] = {"id": "1", "name": "n", "triggers": ()}
    inputs: tuple[tuple[object, str], ...] = (
        (Usage(llm_calls=1), "llm_calls"),
        (["A", "B"], "input"),
        ({"question": "?"}, "question"),
    )
    for given, reads in inputs:
        moment = observe((), "tasks", {**told, "input": given})
        assert moment is not None
        assert isinstance(moment.event, NodeStarted)
        assert reads in moment.event.reads


@dataclass(frozen=True)
class Plain:
    """Not a model of ours."""

    x: int


def test_values_are_shown_in_short() -> None:
    claims = [
        Claim.model_validate({"text": f"Claim {n}.", "verdict": {"status": "unchecked"}})
        for n in range(9)
    ]
    assert brief(claims[:2]) == "Claim 0.; Claim 1."
    assert brief(claims).endswith("9 in all")
    assert brief("x" * 500) == "x" * 239 + "…"
    assert brief(Plain(1)) == "Plain(x=1)"
    assert brief(A) == "Tower"
