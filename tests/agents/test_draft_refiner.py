"""The draft refiner hands in a refined answer, to be proved anew."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM
from citeproof.agents.refiner import DraftRefiner
from citeproof.state import RefiningState
from citeproof.testing import ScriptedChatModel
from tests.agents.calm_states import BUILT, LIT, claim
from tests.agents.r2_mga_states import FAULTY, reflecting

PLANNED = FAULTY.model_copy(update={"actions": ("Cite [1].",)})
WROTE = claim(BUILT, 2)


def refining(**changes: Any) -> RefiningState:
    base: dict[str, Any] = {
        **reflecting(claims=[WROTE], rounds=[PLANNED], rejected=["One."], dropped=["Two."]),
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


async def test_it_asks_in_the_words_of_the_run() -> None:
    model = ScriptedChatModel(["Ann Lee built the tower [1]."])
    words = "Refine {question}: {answer} {actions} {citing}{heading}"
    node = DraftRefiner(LLM(model), prompts={"refiner": words, "system": "Be kind."})
    await node(refining())
    [call] = model.calls
    assert call.prompt.startswith("Be kind.")
    assert "Refine Who built the tower?: Ann Lee built the tower [2]. 1. Cite [1]. " in call.prompt


async def test_sentences_beyond_the_most_are_left_out() -> None:
    model = ScriptedChatModel(["Ann Lee built the tower [1]. It was lit [2]. It is white [1]."])
    update = await DraftRefiner(LLM(model), max_claims=2)(refining())
    assert [claim.text for claim in update["given"]] == [BUILT, "It was lit."]
