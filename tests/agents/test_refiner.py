"""The refiner carries out actions, at once or one by one."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import Claim
from citeproof.agents.refiner import AGAIN, DraftRefiner, RefinementSelector, Refiner
from citeproof.state import RefiningState
from tests.agents.one_node import asking, noted
from tests.agents.states import BROKE, BUILT, FAULTY, KEPT, LIT, claim, judged, numbered, reflecting

PLANNED = FAULTY.model_copy(update={"actions": ("Cite [1].", "Say when it was lit [2].")})
ONE, BOTH = "Ann Lee built the tower [1].", f"Ann Lee built the tower [1]. {LIT[:-1]} [2]."


async def test_all_actions_in_one_call() -> None:
    node, model = asking(Refiner, f"Refined answer: {BOTH}", answer_tokens=77)
    update = await node(reflecting(rounds=[PLANNED]))
    assert numbered(update["claims"]) == [(BUILT, [1]), (LIT, [2])]
    assert update["claims"][0].citations[0].sentence == BUILT
    [call] = model.calls
    assert "Answer: Ann Lee built the tower [2].\n" in call.prompt
    assert "Actions:\n1. Cite [1].\n2. Say when it was lit [2].\n" in call.prompt
    assert call.prompt.index("</passage>") < call.prompt.index("Refine an answer")
    assert call.arguments["max_tokens"] == 77


async def test_step_by_step_each_action_has_a_call_on_the_answer_so_far() -> None:
    node, model = asking(Refiner, ONE, BOTH, execution="step-by-step")
    update = await node(reflecting(rounds=[PLANNED]))
    assert numbered(update["claims"]) == [(BUILT, [1]), (LIT, [2])]
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
    node, _ = asking(Refiner, reply)
    assert numbered((await node(reflecting(rounds=[PLANNED])))["claims"]) == [(BUILT, [1])]


@pytest.mark.parametrize("reply", ["", "Refined answer:", "[1]", "I have cited it rightly now."])
async def test_a_reply_that_holds_no_cited_answer_is_asked_for_once_more(reply: str) -> None:
    node, model = asking(Refiner, reply, ONE)
    update, notes = await noted(node(reflecting(rounds=[PLANNED])))
    assert (numbered(update["claims"]), notes) == ([(BUILT, [1])], [])
    assert model.calls[1].prompt == f"{model.calls[0].prompt}\n\n{AGAIN}"


async def test_then_the_answer_before_it_stands() -> None:
    node, model = asking(Refiner, "", "Done.")
    update, [note] = await noted(node(reflecting(rounds=[PLANNED])))
    assert numbered(update["claims"]) == [(BUILT, [2])]
    assert (len(model.calls), note.split(":")[0]) == (2, "refiner")


async def test_a_step_that_fails_leaves_the_others() -> None:
    node, _ = asking(Refiner, "", "", BOTH, execution="step-by-step")
    update = await node(reflecting(rounds=[PLANNED]))
    assert numbered(update["claims"]) == [(BUILT, [1]), (LIT, [2])]


async def test_an_answer_without_citations_may_stay_without() -> None:
    node, model = asking(Refiner, "Bo Ray built it.")
    update = await node(reflecting(rounds=[PLANNED], claims=[claim(BUILT)]))
    assert numbered(update["claims"]) == [("Bo Ray built it.", [])]
    assert len(model.calls) == 1


# The refined answer is handed in, to be proved anew


ONE_ACTION = FAULTY.model_copy(update={"actions": ("Cite [1].",)})
WROTE = claim(BUILT, 2)


def refining(**changes: Any) -> RefiningState:
    base: dict[str, Any] = {
        **reflecting(claims=[WROTE], rounds=[ONE_ACTION], rejected=["One."], dropped=["Two."]),
        "given": [],
        "first": [],
        "first_dropped": [],
    }
    return {**base, **changes}  # type: ignore[typeddict-item]


async def test_the_refined_claims_are_given_and_those_before_them_put_by() -> None:
    """No more of them than an answer may have."""
    reply = "Refined answer: Ann Lee built the tower [1]. It was lit [2][9]. It is white [1]."
    node, model = asking(DraftRefiner, reply, answer_tokens=77, max_claims=2)
    update = await node(refining())
    assert numbered(update.pop("given")) == [(BUILT, [1]), ("It was lit.", [2])]
    assert update == {
        "first": [WROTE],
        "first_dropped": ["Two."],
        "claims": [],
        "rejected": [],
        "dropped": [],
    }
    assert model.calls[0].arguments["max_tokens"] == 77


@pytest.mark.parametrize(
    "replies", [["Ann Lee built the tower [2]."], ["", "Done!"], [f"{LIT}", f"{LIT}"]]
)
async def test_a_refinement_that_changes_nothing_hands_in_none(replies: list[str]) -> None:
    assert await asking(DraftRefiner, *replies)[0](refining()) == {}


# Which of two answers stands


def yes(text: str) -> Claim:
    return judged(claim(text, 1), "supported")


def no(text: str) -> Claim:
    return judged(claim(text, 1), "unsupported")


def compared(**changes: Any) -> RefiningState:
    kept: dict[str, Any] = {"given": [claim(LIT), claim(KEPT)], "first": [yes(BUILT)]}
    return refining(**{"claims": [], "dropped": [], **kept, **changes})


@pytest.mark.parametrize(
    ("first", "first_dropped", "claims", "dropped", "stands"),
    [
        ([yes(BUILT)], [], [yes(LIT), yes(KEPT)], [], True),
        ([yes(BUILT)], [], [yes(LIT), no(KEPT)], [], False),
        ([yes(BUILT), no(BROKE)], [], [yes(LIT), no(KEPT)], [], True),
        ([no(BUILT)], [], [no(LIT), no(KEPT)], [], True),
        ([yes(BUILT)], [], [yes(LIT)], [KEPT], False),
        ([yes(BUILT)], [BROKE], [yes(LIT)], [KEPT], True),
        ([yes(BUILT)], [BROKE], [], [LIT, KEPT], False),
        # All of the refinement is proved, yet it lost a sentence that was.
        ([yes(BUILT), yes(BROKE), yes(LIT), no(KEPT)], [], [yes(LIT), yes(KEPT)], [], False),
        ([yes(BUILT)], [], [yes(LIT)], [], False),  # cut short: one claim was not looked at
    ],
)
async def test_the_one_that_was_proved_better_stands(
    first: list[Claim],
    first_dropped: list[str],
    claims: list[Claim],
    dropped: list[str],
    stands: bool,
) -> None:
    state = compared(first=first, first_dropped=first_dropped, claims=claims, dropped=dropped)
    update, notes = await noted(RefinementSelector()(state))
    assert update == ({} if stands else {"claims": first, "dropped": first_dropped})
    told = ["the refined answer was not proved as well; the previous one stands"]
    assert notes == ([] if stands else told)
    assert await noted(RefinementSelector()({**state, "given": []})) == ({}, [])
