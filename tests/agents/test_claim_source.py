"""The claim source hands in given claims, one after the other."""

from __future__ import annotations

from typing import Any

import pytest
from typing_extensions import TypedDict

from citeproof import Answer, Usage
from citeproof.agents.claim_source import ClaimSource, DraftReader
from citeproof.errors import InputError
from citeproof.runtime.meter import Meter, use_meter
from citeproof.state import Draft, GivenState, NodeCost, ProvedState
from tests.agents.calm_states import BUILT, LIT, claim
from tests.agents.one_node import graph_of
from tests.agents.states import A, B, state
from tests.chain import chain

GIVEN = [claim(BUILT, 2, 1), claim(LIT)]


def feeding(**changes: Any) -> GivenState:
    base: dict[str, Any] = {**state(draft=None), "given": GIVEN}
    return {**base, **changes}  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("accepted", "dropped", "draft"),
    [
        ([], [], Draft(text=BUILT, cited=("b", "a"))),
        ([claim(BUILT, 1)], [], Draft(text=LIT)),
        ([], [BUILT], Draft(text=LIT)),
        ([claim(LIT, 2)], [BUILT], None),
    ],
)
async def test_the_next_claim_is_the_one_that_is_neither_accepted_nor_dropped(
    accepted: list[Any], dropped: list[str], draft: Draft | None
) -> None:
    update = await ClaimSource()(feeding(claims=accepted, dropped=dropped))
    assert update == {"draft": draft}


async def test_a_claim_that_failed_is_handed_in_again() -> None:
    update = await ClaimSource()(feeding(rejected=[BUILT]))
    assert update == {"draft": Draft(text=BUILT, cited=("b", "a"))}


async def test_nothing_given_is_the_end() -> None:
    assert await ClaimSource()(feeding(given=[])) == {"draft": None}


# The answer of another graph is taken apart


CLAIMS = (claim(BUILT, 1), claim(LIT, 2))
COST = Usage(llm_calls=3, prompt_tokens=40, completion_tokens=9, retrievals=1)


def answer(**changes: Any) -> Answer:
    base: dict[str, Any] = {
        "question": "Who built the tower?",
        "method": "mine",
        "status": "answered",
        "claims": CLAIMS,
        "passages": (B, A),
        "usage": COST,
        "notes": ("one",),
    }
    return Answer.model_validate({**base, **changes})


def spent(usage: Usage) -> Usage:
    """Without the seconds, which differ between two runs."""
    return usage.model_copy(update={"seconds": 0.0})


async def test_the_answers_claims_are_given_and_its_passages_the_memory() -> None:
    with use_meter(Meter()) as meter:
        update = await DraftReader()({"answer": answer()})
    assert update == {
        "passages": [B, A],
        "long_term": ["b", "a"],
        "given": list(CLAIMS),
        "stop": "",
    }
    assert meter.notes == ["one"]


async def test_a_passage_that_is_repeated_bears_one_number() -> None:
    update = await DraftReader()({"answer": answer(passages=(A, B, A))})
    assert (update["passages"], update["long_term"]) == ([A, B], ["a", "b"])


@pytest.mark.parametrize("given", [{}, {"answer": None}, {"answer": "Ann Lee"}])
async def test_a_graph_that_gave_no_answer_is_an_error(given: Any) -> None:
    with pytest.raises(InputError, match="There is no draft to prove: the graph that drafts gave"):
        await graph_of(DraftReader()).ainvoke({**given, "ledger": {}})


# Whose cost it is


class Own(TypedDict):
    """The state of a graph that is none of ours."""

    question: str
    answer: Answer


def total(ledger: dict[str, NodeCost]) -> Usage:
    return spent(sum((cost.usage for cost in ledger.values()), Usage()))


async def test_the_cost_of_anybodys_graph_is_taken_from_its_answer() -> None:
    mine = chain(Own, mine=lambda _: {"answer": answer()}).compile()
    graph = chain(ProvedState, draft=mine, draft_reader=DraftReader()).compile()
    left = await graph.ainvoke({"question": "Who?"})
    assert total(left["ledger"]) == COST
    assert [cost.notes for cost in left["ledger"].values()] == [("one",)]
