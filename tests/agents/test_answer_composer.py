"""The answer composer numbers citations and says how far the answer got."""

from citeproof import Citation, Claim, Usage, Verdict
from citeproof.agents.answer_composer import AnswerComposer, ComposerState
from citeproof.errors import StoreError
from tests.agents.evidence_log import Log
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


async def test_what_is_cited_is_recorded() -> None:
    log = Log()
    claims = [claim("One.", 3, 1), claim("Two."), claim("Three.", 2)]
    await AnswerComposer("mine", evidence=log)(composing(claims=claims))  # type: ignore[arg-type]
    assert [(r["claim"], r["status"], r["method"]) for r in log.records] == [
        ("One.", "supported", "mine"),
        ("Three.", "supported", "mine"),
    ]
    assert [[p.id for p in r["passages"]] for r in log.records] == [["c", "a"], ["b"]]


async def test_a_log_that_fails_costs_the_record_not_the_answer() -> None:
    composer = AnswerComposer(evidence=Log(StoreError("The disk is full")))  # type: ignore[arg-type]
    claims = [claim("One.", 1), claim("Two.", 2)]
    answer = (await composer(composing(claims=claims, notes=["before"])))["answer"]
    assert len(answer.claims) == 2
    assert answer.notes == ("before", "the cited evidence was not recorded: The disk is full.")
