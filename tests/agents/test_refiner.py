"""The refiner carries out actions, at once or one by one."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM, Claim, Verdict
from citeproof.agents.refiner import AGAIN, DraftRefiner, RefinementSelector, Refiner
from citeproof.runtime.meter import Meter, use_meter
from citeproof.state import RefiningState, proved_share
from citeproof.testing import ScriptedChatModel
from tests.agents.states import BROKE, BUILT, FAULTY, KEPT, LIT, claim, reflecting

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
    model = ScriptedChatModel(["Refined answer: Ann Lee built the tower [1]. It was lit [2][9]."])
    update = await DraftRefiner(LLM(model), answer_tokens=77)(refining())
    given = update.pop("given")
    assert [claim.text for claim in given] == [BUILT, "It was lit."]
    assert [[c.passage_id for c in claim.citations] for claim in given] == [["a"], ["b"]]
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
    assert await DraftRefiner(LLM(ScriptedChatModel(replies)))(refining()) == {}


async def test_sentences_beyond_the_most_are_left_out() -> None:
    model = ScriptedChatModel(["Ann Lee built the tower [1]. It was lit [2]. It is white [1]."])
    update = await DraftRefiner(LLM(model), max_claims=2)(refining())
    assert [claim.text for claim in update["given"]] == [BUILT, "It was lit."]


# Which of two answers stands


def yes(text: str) -> Claim:
    return claim(text, 1).model_copy(update={"verdict": Verdict(status="supported")})


def no(text: str) -> Claim:
    return claim(text, 1).model_copy(update={"verdict": Verdict(status="unsupported")})


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
    with use_meter(Meter()) as meter:
        update = await RefinementSelector()(state)
    assert update == ({} if stands else {"claims": first, "dropped": first_dropped})
    told = ["the refined answer was not proved as well; the one before it stands"]
    assert meter.notes == ([] if stands else told)


async def test_without_a_refinement_there_is_no_choice() -> None:
    with use_meter(Meter()) as meter:
        assert await RefinementSelector()(compared(given=[], first=[], claims=[no(BUILT)])) == {}
    assert meter.notes == []


def test_the_share_of_supported_claims() -> None:
    assert proved_share([]) == 0.0
    assert proved_share([yes(BUILT), no(LIT)]) == 0.5
    assert proved_share([yes(BUILT)], [LIT, KEPT, BROKE]) == 0.25
