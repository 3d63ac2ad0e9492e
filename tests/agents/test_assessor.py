"""The assessor reads three verdicts, and says that it could not where one is missing."""

from __future__ import annotations

import pytest

from citeproof.agents.assessor import AGAIN, Assessor, ClaimsAssessor, read_assessment
from citeproof.state import Reflection
from citeproof.testing import TableEntailment
from citeproof.types import Claim
from tests.agents.one_node import asking, noted
from tests.agents.states import BUILT, FAULTY, claim, reflecting

LINES = "Complete: no. It lacks [3].\nCorrect: yes.\nWell cited: no. [2] is wrong."


async def test_the_assessment_becomes_a_round() -> None:
    node, model = asking(Assessor, LINES)
    [done] = (await node(reflecting()))["rounds"]
    assert "example" not in model.calls[0].prompt
    assert done == Reflection(
        number=1,
        answer="Ann Lee built the tower [2].",
        feedback=LINES,
        complete=False,
        correct=True,
        cited=False,
    )
    assert done.faulty


@pytest.mark.parametrize(
    ("reply", "verdicts"),
    [
        ("Complete: yes\nCorrect: yes\nWell cited: yes", (True, True, True)),
        (
            "**Complete**: Yes, it is.\n\n- **Correct:** No – 1872 is wrong.\n* Well cited: YES!",
            (True, False, True),
        ),
        (
            "Let me see. It is complete: fine.\n1. Completeness: no.\n2. Correctness: yes.\n"
            "3. Citation correctness: no.",
            (False, True, False),
        ),
        ('"complete": true, say\n"correct": false\n"citations": true', (True, False, True)),
        ("Complete: no\nComplete: yes\nCorrect: yes\nCorrectly cited: no", (True, True, False)),
        ("Complete: no.\n- the year\n- [2]\nCorrect: yes\nWell cited: yes", (False, True, True)),
    ],
)
def test_forms_of_a_readable_reply(reply: str, verdicts: tuple[bool, bool, bool]) -> None:
    found = read_assessment(reply, 1, "x")
    assert found is not None
    assert (found.complete, found.correct, found.cited) == verdicts
    assert [line.split(". ")[0].rstrip(".") for line in found.feedback.splitlines()] == [
        f"{label}: {'yes' if holds else 'no'}"
        for label, holds in zip(("Complete", "Correct", "Well cited"), verdicts, strict=True)
    ]


@pytest.mark.parametrize(
    "reply",
    ["", "Fine.", "Complete: yes\nCorrect: yes", "Complete: maybe\nCorrect: yes\nWell cited: no"],
)
async def test_what_cannot_be_read_is_asked_for_once_more(reply: str) -> None:
    node, model = asking(Assessor, reply, LINES)
    update, notes = await noted(node(reflecting()))
    first, second = model.calls
    assert second.prompt == f"{first.prompt}\n\n{AGAIN}"
    assert (update["rounds"][0].feedback, notes) == (LINES, [])


async def test_then_there_is_no_feedback_and_no_need_to_refine() -> None:
    node, model = asking(Assessor, "?", "!")
    update, [note] = await noted(node(reflecting(rounds=[FAULTY])))
    done = Reflection(number=2, answer="Ann Lee built the tower [2].")
    assert update["rounds"] == [FAULTY, done]
    assert not done.faulty
    assert len(model.calls) == 2
    assert note.startswith("assessor:")


# By entailment: sentences that nothing states, and those that cite wrongly


LIT = "The tower was lit in 1871."
MADE_UP = "The tower sank."


def by_entailment() -> tuple[ClaimsAssessor, TableEntailment]:
    model = TableEntailment(lambda text, said: 0.9 if said in text else 0.1)
    return ClaimsAssessor(model), model


async def assessed(**state: object) -> Reflection:
    rounds: list[Reflection] = (await by_entailment()[0](reflecting(**state)))["rounds"]
    return rounds[-1]


async def test_an_answer_that_its_citations_state_has_no_fault() -> None:
    done = await assessed(claims=[claim(BUILT, 1), claim(LIT, 1, 2)])
    assert (done.complete, done.correct, done.cited, done.faulty) == (None, True, True, False)
    assert done.feedback.splitlines() == [
        "Correct: yes. The passages state every sentence.",
        "Well cited: yes. Each sentence is stated by what it cites.",
    ]
    assert done.answer == f"{BUILT[:-1]} [1]. {LIT[:-1]} [1][2]."


@pytest.mark.parametrize(
    ("claims", "verdicts", "feedback"),
    [
        (
            [claim(BUILT, 2, 3), claim(LIT)],
            (True, False),
            f"Correct: yes. The passages state every sentence.\n"
            f"Well cited: no. [1] states this, not [2][3]: {BUILT} "
            f"[2] states this, yet nothing is cited: {LIT}",
        ),
        (
            [claim(BUILT, 1), claim(BUILT, 2)],
            (True, False),
            "Correct: yes. The passages state every sentence.\n"
            f"Well cited: no. [1] states this, not [2]: {BUILT}",
        ),
        (
            [claim(MADE_UP, 1), claim(BUILT, 1)],
            (False, False),
            f"Correct: no. No passage states this: {MADE_UP}",
        ),
    ],
    ids=["wrong citations", "two claims of one wording", "stated nowhere"],
)
async def test_faults_are_named(
    claims: list[Claim], verdicts: tuple[bool, bool], feedback: str
) -> None:
    first, done = (await by_entailment()[0](reflecting(claims=claims, rounds=[FAULTY])))["rounds"]
    assert (first, done.number) == (FAULTY, 2)
    assert ((done.correct, done.cited), done.faulty) == (verdicts, True)
    assert done.feedback == feedback


async def test_without_passages_nothing_is_stated() -> None:
    done = await assessed(claims=[claim(BUILT)], passages=[], long_term=[])
    assert not done.correct


async def test_of_two_passages_that_state_it_the_first_is_named() -> None:
    model = TableEntailment(lambda *_: 0.9)
    [done] = (await ClaimsAssessor(model)(reflecting(claims=[claim(BUILT)])))["rounds"]
    assert "[1] states this" in done.feedback


async def test_single_passages_are_asked_only_where_the_citations_fail() -> None:
    node, model = by_entailment()
    await node(reflecting(claims=[claim(BUILT, 1), claim(LIT, 1)]))
    assert len(model.pairs) == 2 + 3
