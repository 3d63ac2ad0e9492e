"""The answer keeper adds a case where nothing of an answer is in doubt."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import Answer, Claim, Verdict
from citeproof.agents.answer_keeper import PROVED, AnswerKeeper
from citeproof.agents.assessor import read_assessment
from citeproof.errors import StoreError
from citeproof.memory.bank import Bank, Case
from citeproof.tools.meter import Meter, metered
from tests.agents.calm_states import BUILT, LIT, claim
from tests.agents.states import A, B

TEXT = "Ann Lee built the tower [1]. The tower was lit in 1871 [2]."


def answer(*statuses: str, **changes: Any) -> Answer:
    """Two claims with these verdicts."""
    base: dict[str, Any] = {
        "question": "Who built the tower?",
        "method": "vtg",
        "status": "answered",
        "claims": tuple(
            judged(said, status)
            for said, status in zip([claim(BUILT, 1), claim(LIT, 2)], statuses, strict=False)
        ),
        "passages": (A, B),
        "notes": ("before",),
    }
    return Answer.model_validate({**base, **changes})


def judged(said: Claim, status: str) -> Claim:
    return said.model_copy(update={"verdict": Verdict.model_validate({"status": status})})


async def test_a_proved_answer_is_kept_whole(bank: Bank) -> None:
    given = answer("supported", "supported")
    update = await AnswerKeeper(bank)({"answer": given})
    [entry] = await bank.cases()
    assert update == {"case_id": entry.id, "answer": given}
    assert entry.case == Case(
        question="Who built the tower?",
        passages=(A, B),
        answer=TEXT,
        feedback=PROVED,
        final=TEXT,
        method="vtg",
        score=1.0,
    )


def test_the_feedback_is_an_assessment_that_finds_no_fault() -> None:
    read = read_assessment(PROVED, 1, TEXT)
    assert read is not None
    assert (read.complete, read.correct, read.cited) == (True, True, True)
    assert read.feedback == PROVED


@pytest.mark.parametrize(
    "doubtful",
    [
        answer("supported", "unsupported"),
        answer("supported", "unchecked"),
        answer("supported", status="partial", reason="The budget of 3 calls is spent."),
        answer(status="abstained", reason="No passage was found for the question."),
        answer(),
    ],
)
async def test_an_answer_in_doubt_is_not_kept(bank: Bank, doubtful: Answer) -> None:
    assert await AnswerKeeper(bank)({"answer": doubtful}) == {"answer": doubtful}
    assert await bank.count() == 0


async def test_a_namespace_of_its_own(bank: Bank) -> None:
    keeper = AnswerKeeper(bank, namespace="other")
    await keeper({"answer": answer("supported", "supported")})
    assert (await bank.count(), await bank.within("other").count()) == (0, 1)


async def test_a_bank_that_fails_costs_the_case_and_the_answer_says_so(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> str:
        raise StoreError("The disk is full")

    monkeypatch.setattr(Bank, "add", fail)
    given = answer("supported", "supported")
    with metered(Meter()):
        update = await AnswerKeeper(bank)({"answer": given})
    told = "the case was not kept in the memory bank: The disk is full."
    assert update["case_id"] == ""
    assert update["answer"] == given.model_copy(update={"notes": ("before", told)})
