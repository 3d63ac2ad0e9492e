"""The claim source hands in given claims, one after the other."""

from __future__ import annotations

from typing import Any

import pytest
from typing_extensions import TypedDict

from citeproof import Answer, QuotedPassage, Usage
from citeproof.agents.claim_generator import ClaimSource, DraftReader
from citeproof.errors import InputError
from citeproof.state import Draft, GivenState, ProvedState, total_usage
from tests.agents.one_node import graph_of, noted
from tests.agents.states import BUILT, LIT, A, B, claim, state
from tests.chain import chain

GIVEN = [claim(BUILT, 2, 1), claim(LIT)]


def feeding(**changes: Any) -> GivenState:
    base: dict[str, Any] = {**state(draft=None), "given": GIVEN}
    return {**base, **changes}  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("changes", "draft"),
    [
        ({}, Draft(text=BUILT, cited=("b", "a"))),
        ({"rejected": [BUILT]}, Draft(text=BUILT, cited=("b", "a"))),
        ({"claims": [claim(BUILT, 1)]}, Draft(text=LIT)),
        ({"dropped": [BUILT]}, Draft(text=LIT)),
        ({"claims": [claim(LIT, 2)], "dropped": [BUILT]}, None),
        ({"given": []}, None),
    ],
)
async def test_the_next_claim_is_the_one_that_is_neither_accepted_nor_dropped(
    changes: dict[str, Any], draft: Draft | None
) -> None:
    assert await ClaimSource()(feeding(**changes)) == {"draft": draft}


@pytest.mark.parametrize(
    ("memory", "filled"),
    [
        ({"long_term": [], "short_term": []}, {"long_term": ["a", "b", "c"]}),
        ({"long_term": [], "short_term": ["c"]}, {}),
        ({"long_term": [], "passages": []}, {}),
    ],
)
async def test_without_a_memory_all_passages_are_the_memory(
    memory: dict[str, Any], filled: dict[str, Any]
) -> None:
    draft = Draft(text=BUILT, cited=("b", "a"))
    assert await ClaimSource()(feeding(**memory)) == {"draft": draft, **filled}


# The answer of another graph is taken apart


CLAIMS = (claim(BUILT, 1), claim(LIT, 2))
COST = Usage(llm_calls=3, prompt_tokens=40, completion_tokens=9, retrievals=1)


def answer(**changes: Any) -> Answer:
    base: dict[str, Any] = {
        "question": "Who built the tower?",
        "method": "mine",
        "status": "answered",
        "claims": CLAIMS,
        "passages": (B, A, B),
        "usage": COST,
        "notes": ("one",),
    }
    return Answer.model_validate({**base, **changes})


async def test_the_answers_claims_are_given_and_its_passages_the_memory() -> None:
    update, notes = await noted(DraftReader()({"answer": answer()}))
    assert update == {
        "passages": [B, A],
        "long_term": ["b", "a"],
        "given": list(CLAIMS),
        "stop": "",
    }
    assert notes == ["one"]


async def test_the_nearest_passages_of_a_draft_without_claims_are_the_memory() -> None:
    nearest = [QuotedPassage(passage=one) for one in (B, A)]
    draft = answer(status="not_found", claims=(), passages=(), nearest=nearest, reason="Spent.")
    assert await DraftReader()({"answer": draft}) == {
        "passages": [B, A],
        "long_term": ["b", "a"],
        "given": [],
        "stop": "Spent.",
    }


@pytest.mark.parametrize("given", [{}, {"answer": None}, {"answer": "Ann Lee"}])
async def test_a_graph_that_gave_no_answer_is_an_error(given: Any) -> None:
    with pytest.raises(InputError, match="There is no draft to prove: the drafting graph returned"):
        await graph_of(DraftReader()).ainvoke({**given, "ledger": {}})


# Whose cost it is


class Own(TypedDict):
    """The state of a graph that is none of ours."""

    question: str
    answer: Answer


async def test_the_cost_of_anybodys_graph_is_taken_from_its_answer() -> None:
    mine = chain(Own, mine=lambda _: {"answer": answer()}).compile()
    graph = chain(ProvedState, draft=mine, draft_reader=DraftReader()).compile()
    left = await graph.ainvoke({"question": "Who?"})
    usage = total_usage(left["ledger"])
    assert usage.model_copy(update={"seconds": 0.0}) == COST
    assert [cost.notes for cost in left["ledger"].values()] == [("one",)]
