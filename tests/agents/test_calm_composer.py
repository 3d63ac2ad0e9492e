"""The composer takes the last answer as it is, and says whether it was agreed on."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import Usage
from citeproof.agents.answerer import UNCHECKED
from citeproof.agents.calm_composer import CaLMComposer, CaLMComposerState
from citeproof.state import Contrast
from citeproof.types import Verdict
from tests.agents.calm_states import BUILT, KEPT, LIT, candidate, claim
from tests.agents.states import A, B


def composing(**changes: Any) -> CaLMComposerState:
    return {**candidate(), "usage": Usage(), **changes}  # type: ignore[typeddict-item]


def contrast(agreed: bool) -> Contrast:
    return Contrast(
        number=1, answer="x", verifier_answer="x", rouge_2=0.3, agreed=agreed, statements=()
    )


CLAIMS = [claim(LIT, 2), claim(BUILT, 2, 1), claim(KEPT)]


async def test_an_agreed_answer_is_answered_and_not_flagged() -> None:
    state = composing(claims=CLAIMS, rounds=[contrast(False), contrast(True)])
    answer = (await CaLMComposer()(state))["answer"]
    assert answer.text == (
        "The tower was lit in 1871 [1]. Ann Lee built the tower [1][2]. Bo Ray kept the light."
    )
    assert (answer.method, answer.status, answer.reason) == ("calm", "answered", "")
    assert answer.passages == (B, A)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "No verifier LM has read this answer."),
        (
            {"rounds": [contrast(False)] * 3},
            "No agreement in 3 rounds; the answer is the last, which was not verified.",
        ),
        (
            {"rounds": [contrast(False)]},
            "No agreement in 1 round; the answer is the last, which was not verified.",
        ),
        ({"rounds": [contrast(False)], "stop": "Spent."}, "Spent."),
        ({"stop": "Spent."}, "Spent."),
    ],
)
async def test_any_other_answer_is_partial_and_says_why(
    changes: dict[str, Any], reason: str
) -> None:
    answer = (await CaLMComposer()(composing(claims=CLAIMS, **changes)))["answer"]
    assert (answer.status, answer.reason) == ("partial", reason)


async def test_no_claim_is_an_abstention() -> None:
    answer = (await CaLMComposer()(composing(passages=[])))["answer"]
    assert (answer.status, answer.reason) == ("abstained", "No passage was found for the question.")


async def test_claims_that_no_verifier_has_read_say_so() -> None:
    unread = claim(LIT, 2).model_copy(
        update={"verdict": Verdict(status="unchecked", reason=UNCHECKED)}
    )
    read = claim(BUILT, 1).model_copy(
        update={"verdict": Verdict(status="unchecked", trials=1, reason="it was read")}
    )
    state = composing(claims=[unread, read], rounds=[contrast(False)])
    verdicts = [c.verdict for c in (await CaLMComposer()(state))["answer"].claims]
    assert [(v.trials, v.reason) for v in verdicts] == [
        (2, "the verifier LM has not read this answer"),
        (1, "it was read"),
    ]


async def test_a_list_has_commas() -> None:
    claims = [claim("Ann Lee", 2), claim("Bo Ray"), claim("Washington, D.C.", 1)]
    state = composing(claims=claims, rounds=[contrast(True)])
    answer = (await CaLMComposer(form="list")(state))["answer"]
    assert answer.text == "Ann Lee [1], Washington, D.C. [2], Bo Ray"
