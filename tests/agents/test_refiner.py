"""The refiner carries out actions, at once or one by one."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM, Claim
from citeproof.agents.refiner import AGAIN, Refiner
from citeproof.runtime.meter import Meter, use_meter
from citeproof.testing import ScriptedChatModel
from tests.agents.calm_states import BUILT, LIT, claim
from tests.agents.r2_mga_states import FAULTY, reflecting

PLANNED = FAULTY.model_copy(update={"actions": ("Cite [1].", "Say when it was lit [2].")})
ONE, BOTH = "Ann Lee built the tower [1].", f"Ann Lee built the tower [1]. {LIT[:-1]} [2]."


def refiner(*replies: str, **knobs: Any) -> tuple[Refiner, ScriptedChatModel]:
    model = ScriptedChatModel(replies)
    return Refiner(LLM(model), **knobs), model


def told(claims: list[Claim]) -> list[tuple[str, list[int]]]:
    return [(c.text, [citation.number for citation in c.citations]) for c in claims]


async def test_all_actions_in_one_call() -> None:
    node, model = refiner(f"Refined answer: {BOTH}", answer_tokens=77)
    update = await node(reflecting(rounds=[PLANNED]))
    assert told(update["claims"]) == [(BUILT, [1]), (LIT, [2])]
    assert update["claims"][0].citations[0].sentence == BUILT
    [call] = model.calls
    assert "Answer: Ann Lee built the tower [2].\n" in call.prompt
    assert "Actions:\n1. Cite [1].\n2. Say when it was lit [2].\n" in call.prompt
    assert call.prompt.index("</passage>") < call.prompt.index("Refine an answer")
    assert call.arguments["max_tokens"] == 77


async def test_step_by_step_each_action_has_a_call_on_the_answer_so_far() -> None:
    node, model = refiner(ONE, BOTH, execution="step-by-step")
    update = await node(reflecting(rounds=[PLANNED]))
    assert told(update["claims"]) == [(BUILT, [1]), (LIT, [2])]
    first, second = model.calls
    assert "Answer: Ann Lee built the tower [2].\n\nActions:\n1. Cite [1].\n\n" in first.prompt
    assert f"Answer: {ONE}\n\nActions:\n1. Say when it was lit [2].\n\n" in second.prompt


@pytest.mark.parametrize(
    "reply",
    [
        ONE,
        f"I have done it.\n\n**Refined answer:** {ONE}",
        "Refined Answer:\nAnn Lee built the tower [1][101][9].",
    ],
)
async def test_what_stands_after_the_heading_is_read_and_invented_numbers_are_dropped(
    reply: str,
) -> None:
    node, _ = refiner(reply)
    assert told((await node(reflecting(rounds=[PLANNED])))["claims"]) == [(BUILT, [1])]


@pytest.mark.parametrize("reply", ["", "Refined answer:", "[1]", "I have cited it rightly now."])
async def test_a_reply_that_holds_no_cited_answer_is_asked_for_once_more(reply: str) -> None:
    node, model = refiner(reply, ONE)
    with use_meter(Meter()) as meter:
        update = await node(reflecting(rounds=[PLANNED]))
    assert told(update["claims"]) == [(BUILT, [1])]
    assert model.calls[1].prompt == f"{model.calls[0].prompt}\n\n{AGAIN}"
    assert meter.notes == []


async def test_then_the_answer_before_it_stands() -> None:
    node, model = refiner("", "Done.")
    with use_meter(Meter()) as meter:
        update = await node(reflecting(rounds=[PLANNED]))
    assert told(update["claims"]) == [(BUILT, [2])]
    assert len(model.calls) == 2
    assert [note.split(":")[0] for note in meter.notes] == ["refiner"]


async def test_a_step_that_fails_leaves_the_others() -> None:
    node, _ = refiner("", "", BOTH, execution="step-by-step")
    update = await node(reflecting(rounds=[PLANNED]))
    assert told(update["claims"]) == [(BUILT, [1]), (LIT, [2])]


async def test_an_answer_without_citations_may_stay_without() -> None:
    node, model = refiner("Bo Ray built it.")
    update = await node(reflecting(rounds=[PLANNED], claims=[claim(BUILT)]))
    assert told(update["claims"]) == [("Bo Ray built it.", [])]
    assert len(model.calls) == 1
