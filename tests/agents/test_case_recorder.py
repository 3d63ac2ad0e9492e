"""The case recorder adds a case to the bank, if its answer was found to be right."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from citeproof import Answer, Claim
from citeproof.agents import case_recorder
from citeproof.agents.assessor import read_assessment
from citeproof.agents.case_recorder import CaseRecorder
from citeproof.errors import BudgetExceededError, VerifierOutageError
from citeproof.memory.bank import UNUSABLE, Bank
from citeproof.state import Reflection
from citeproof.testing import TableEntailment
from tests.agents.one_node import noted
from tests.agents.states import BUILT, FAULTY, LIT, A, B, claim, judged, reflecting

FINAL = f"{BUILT[:-1]} [1]. {LIT[:-1]} [2]."
PLANNED = FAULTY.model_copy(update={"actions": ("Cite [1].", "Add the year [2].")})
PASSED = Reflection(
    number=2, answer=FINAL, feedback="Complete: no.\n…", complete=False, correct=True, cited=True
)


def final(*statuses: str) -> list[Claim]:
    """The two claims of the final answer, with verdicts."""
    claims = [claim(BUILT, 1), claim(LIT, 2)]
    return [judged(said, status) for said, status in zip(claims, statuses, strict=True)]


def finished(*statuses: str, **changes: Any) -> Any:
    base = {"claims": final(*statuses), "rounds": [PLANNED, PASSED], "answer": None}
    return reflecting(**{**base, **changes})


PROVED = ("supported", "supported")


async def test_actions_that_led_to_no_other_answer_are_left_out(bank: Bank) -> None:
    said = {"answer": FINAL, "correct": True, "cited": True}
    assessed = PLANNED.model_copy(update=said)
    await CaseRecorder(bank, gate="nli")(finished(*PROVED, rounds=[assessed]))
    [entry] = await bank.cases()
    assert (entry.case.answer, entry.case.final, entry.case.actions) == (FINAL, FINAL, ())
    assert entry.case.feedback == PLANNED.feedback


@pytest.mark.parametrize(
    ("knobs", "final", "score"),
    [
        ({"gate": "nli", "least_score": 0.5}, FINAL, 0.5),
        ({"gate": "nli", "least_score": 0.51}, None, None),
        ({"least_score": 0.5, "unverified": "drop"}, f"{BUILT[:-1]} [1].", 0.5),
        ({"gate": "llm"}, FINAL, None),
    ],
    ids=["enough", "too little", "the dropped claim is no part of it", "no score by the model"],
)
async def test_an_answer_of_which_half_is_proved(
    bank: Bank, knobs: dict[str, Any], final: str | None, score: float | None
) -> None:
    await CaseRecorder(bank, **knobs)(finished("supported", "unsupported"))
    kept = [(entry.case.final, entry.case.score) for entry in await bank.cases()]
    assert kept == ([(final, score)] if final else [])


WRONG = PASSED.model_copy(update={"correct": False})
MISCITED = PASSED.model_copy(update={"cited": False})
UNREAD = Reflection(number=2, answer=FINAL)
STALE = PASSED.model_copy(update={"answer": "Something else [1]."})
HALF = ("supported", "unsupported")
UNCHECKED = ("unchecked", "unchecked")


@pytest.mark.parametrize(
    ("gate", "last", "statuses", "kept"),
    [
        ("llm", PASSED, UNCHECKED, True),
        ("llm", WRONG, UNCHECKED, False),
        ("llm", MISCITED, UNCHECKED, False),
        ("llm", UNREAD, UNCHECKED, False),
        ("llm", STALE, UNCHECKED, False),
        ("nli", WRONG, PROVED, False),
        ("nli", STALE, PROVED, True),
        ("nli", PASSED, HALF, False),
        ("both", PASSED, PROVED, True),
        ("both", PASSED, HALF, False),
        ("both", MISCITED, PROVED, False),
        ("both", STALE, PROVED, False),
    ],
)
async def test_the_gate(
    bank: Bank, gate: Any, last: Reflection, statuses: tuple[str, str], kept: bool
) -> None:
    """An answer that is right and well cited may be incomplete."""
    update = await CaseRecorder(bank, gate=gate)(finished(*statuses, rounds=[PLANNED, last]))
    assert bool(update.get("case_id")) is kept
    assert await bank.count() == int(kept)


async def test_nothing_is_kept_read_only_or_without_feedback(bank: Bank) -> None:
    assert await CaseRecorder(bank, remember=False)(finished(*PROVED)) == {}
    assert await CaseRecorder(None)(finished(*PROVED)) == {}
    blank = Reflection(number=1, answer=FINAL)
    assert await CaseRecorder(bank, gate="nli")(finished(*PROVED, rounds=[blank])) == {}
    assert await CaseRecorder(bank, gate="nli")(finished(*PROVED, rounds=[])) == {}
    assert await bank.count() == 0


@pytest.mark.parametrize("error", [kind("The disk is full") for kind in UNUSABLE])
async def test_a_bank_that_fails_costs_the_case_not_the_answer(
    bank: Bank, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def fail(*_: Any) -> str:
        raise error

    monkeypatch.setattr(Bank, "add", fail)
    update, notes = await noted(CaseRecorder(bank)(finished(*PROVED)))
    assert update == {"case_id": ""}
    assert notes == ["the case was not kept in the memory bank: The disk is full."]


@pytest.mark.parametrize(
    ("question", "knobs", "kept"),
    [
        ("Who built the tower?", {}, True),
        ("Who built the tower, and when was it lit?", {}, True),
        ("Who built the tower, and who kept the light?", {}, False),
        ("Who kept the light?", {}, False),
        ("Who kept the light?", {"check_answer": False}, True),
        ("Who kept the light?", {"answerability": None}, True),
    ],
)
async def test_an_answer_that_misses_a_part_of_the_question_is_not_kept(
    bank: Bank, question: str, knobs: dict[str, Any], kept: bool
) -> None:
    model = TableEntailment(lambda _, asked: 0.1 if "kept" in asked else 0.9)
    node = CaseRecorder(bank, **{"answerability": model, **knobs})
    update = await node(finished(*PROVED, question=question))
    assert bool(update.get("case_id")) is kept


@pytest.mark.parametrize("kind", [BudgetExceededError, VerifierOutageError])
async def test_an_answer_that_could_not_be_checked_is_not_kept(
    bank: Bank, kind: type[Exception]
) -> None:
    def gone(*_: str) -> NoReturn:
        raise kind("Gone")

    node = CaseRecorder(bank, answerability=TableEntailment(gone))
    assert await noted(node(finished(*PROVED))) == (
        {},
        ["the case was not kept in the memory bank: Gone."],
    )


# The answer of another graph

TEXT = "Ann Lee built the tower [1]. The tower was lit in 1871 [2]."


def answered(*statuses: str, **changes: Any) -> Answer:
    """Two claims with these verdicts."""
    base: dict[str, Any] = {
        "question": "Who built the tower?",
        "method": "vtg",
        "status": "answered",
        "claims": tuple(final(*statuses)) if statuses else (),
        "passages": (A, B),
        "notes": ("before",),
    }
    return Answer.model_validate({**base, **changes})


def given(answer: Answer) -> Any:
    """The state of a graph that has nothing but the answer."""
    return {"question": "Who?", "answer": answer}


def test_the_feedback_is_an_assessment_that_finds_no_fault() -> None:
    assert read_assessment(case_recorder.PROVED, 1, TEXT) == Reflection(
        number=1,
        answer=TEXT,
        feedback=case_recorder.PROVED,
        complete=True,
        correct=True,
        cited=True,
    )


@pytest.mark.parametrize(
    "doubtful",
    [
        answered("supported", "unsupported"),
        answered("supported", "unchecked"),
        answered(*PROVED, status="partial", reason="The budget of 3 calls is spent."),
        answered(status="not_found", reason="No passage was found for the question."),
        answered(),
    ],
)
async def test_an_answer_in_doubt_is_not_kept(bank: Bank, doubtful: Answer) -> None:
    update = await CaseRecorder(bank)(given(doubtful))
    assert update == {"case_id": "", "answer": doubtful}
    assert await bank.count() == 0
