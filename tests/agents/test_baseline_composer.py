"""The end of a baseline's run."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof.agents.baseline_composer import BaselineComposer
from citeproof.types import Answer, Claim, Usage, Verdict
from tests.agents.calm_states import BUILT, LIT, claim
from tests.agents.states import B, state


def judged(claim: Claim, status: Any) -> Claim:
    return claim.model_copy(update={"verdict": Verdict(status=status)})


async def composed(node: BaselineComposer, **changes: Any) -> Answer:
    answer = (await node(state(usage=Usage(), **changes)))["answer"]
    assert isinstance(answer, Answer)
    return answer


async def test_nothing_is_flagged_in_the_text() -> None:
    claims = [judged(claim(LIT, 2), "supported"), judged(claim(BUILT, 1), "unsupported")]
    answer = await composed(BaselineComposer("vanilla"), claims=claims)
    assert answer.text == "The tower was lit in 1871 [1]. Ann Lee built the tower [2]."
    assert answer.passages[0] == B
    assert (answer.method, answer.status) == ("vanilla", "partial")
    assert answer.reason == "1 of 2 claims could not be proved."


async def test_an_answer_that_is_proved_is_answered() -> None:
    answer = await composed(BaselineComposer("usc"), claims=[judged(claim(LIT, 2), "supported")])
    assert (answer.status, answer.reason) == ("answered", "")


async def test_unchecked_claims_are_told_to_be_that() -> None:
    answer = await composed(BaselineComposer("usc"), claims=[claim(LIT, 2)])
    assert (answer.status, answer.reason) == ("partial", "The claims were not checked.")


@pytest.mark.parametrize("form", ["list", "short"])
async def test_names_stand_with_their_marks(form: Any) -> None:
    answer = await composed(
        BaselineComposer("x", form), claims=[judged(claim("Ann", 2), "supported")]
    )
    assert answer.text == "Ann [1]"


@pytest.mark.parametrize(
    ("knobs", "changes", "reason"),
    [
        ({}, {}, "The passages that were found do not answer the question."),
        ({}, {"passages": []}, "No passage was found for the question."),
        ({"closed_book": True}, {"passages": []}, "The model gave no answer."),
    ],
)
async def test_why_there_is_no_answer(knobs: Any, changes: Any, reason: str) -> None:
    answer = await composed(BaselineComposer("x", **knobs), **changes)
    assert (answer.status, answer.reason, answer.text) == ("abstained", reason, "")
