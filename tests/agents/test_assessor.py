"""The assessor reads three verdicts, and says that it could not where one is missing."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM
from citeproof.agents.assessor import AGAIN, Assessor, read_assessment
from citeproof.runtime.meter import Meter, use_meter
from citeproof.state import Reflection
from citeproof.testing import ScriptedChatModel
from tests.agents.r2_mga_states import FAULTY, reflecting

LINES = "Complete: no. It lacks [3].\nCorrect: yes.\nWell cited: no. [2] is wrong."


def assessor(*replies: str) -> tuple[Assessor, ScriptedChatModel]:
    model = ScriptedChatModel(replies)
    return Assessor(LLM(model)), model


async def test_the_assessment_becomes_a_round() -> None:
    node, _ = assessor(LINES)
    [done] = (await node(reflecting()))["rounds"]
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


def test_a_reason_may_go_on_over_several_lines() -> None:
    found = read_assessment(
        "Complete: no.\n- the year\n- [2]\nCorrect: yes\nWell cited: yes", 1, ""
    )
    assert found is not None
    assert found.feedback.splitlines()[0] == "Complete: no. - the year - [2]"


@pytest.mark.parametrize(
    "reply",
    ["", "Fine.", "Complete: yes\nCorrect: yes", "Complete: maybe\nCorrect: yes\nWell cited: no"],
)
async def test_what_cannot_be_read_is_asked_for_once_more(reply: str) -> None:
    node, model = assessor(reply, LINES)
    with use_meter(Meter()) as meter:
        [done] = (await node(reflecting()))["rounds"]
    first, second = model.calls
    assert second.prompt == f"{first.prompt}\n\n{AGAIN}"
    assert done.feedback == LINES
    assert meter.notes == []


async def test_then_there_is_no_feedback_and_no_need_to_refine() -> None:
    node, model = assessor("?", "!")
    with use_meter(Meter()) as meter:
        earlier, done = (await node(reflecting(rounds=[FAULTY])))["rounds"]
    assert earlier == FAULTY
    assert done == Reflection(number=2, answer="Ann Lee built the tower [2].")
    assert not done.faulty
    assert len(model.calls) == 2
    assert [note.split(":")[0] for note in meter.notes] == ["assessor"]


async def test_the_prompt_ends_with_the_answer_and_what_to_judge() -> None:
    node, model = assessor(LINES)
    await node(reflecting(demonstration="<example>E</example>"))
    prompt = model.calls[0].prompt
    places: list[Any] = [
        prompt.index(part)
        for part in (
            '<passage number="3"',
            "An example of such an assessment, to another question",
            "<example>E</example>",
            "Answer: Ann Lee built the tower [2].",
            "Complete: does",
            "Correct: does",
            "Well cited: does",
            "numbered 1, 2, 3.",
        )
    ]
    assert places == sorted(places)


async def test_without_a_demonstration_none_is_announced() -> None:
    node, model = assessor(LINES)
    await node(reflecting())
    assert "example" not in model.calls[0].prompt
