"""The answer composer numbers citations and says how far the answer got."""

from citeproof import Citation, Claim, Usage, Verdict
from citeproof.agents.answer_composer import AnswerComposer, ComposerState
from tests.agents.states import A, B, C, state

PROVED = Verdict(status="supported", tier="cited", score=0.9)


def composing(**changes: object) -> ComposerState:
    return {**state(), "usage": Usage(), **changes}  # type: ignore[typeddict-item]


def claim(text: str, *numbers: int) -> Claim:
    ids = "abc"
    return Claim(
        text=text,
        citations=tuple(Citation(passage_id=ids[n - 1], number=n) for n in numbers),
        verdict=PROVED,
    )


async def test_numbers_follow_first_use_and_marks_ascend() -> None:
    claims = [claim("One.", 3), claim("Two.", 1, 3), claim("Three.", 2, 1)]
    answer = (await AnswerComposer()(composing(claims=claims)))["answer"]
    assert answer.text == "One [1]. Two [1][2]. Three [2][3]."
    assert answer.passages == (C, A, B)


async def test_a_stopped_run_says_why() -> None:
    state = composing(claims=[claim("One.", 1)], stop="The budget of 3 calls is spent.")
    answer = (await AnswerComposer()(state))["answer"]
    assert (answer.status, answer.reason) == ("partial", "The budget of 3 calls is spent.")
