"""The answer composer numbers citations and says how far the answer got."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import pytest

from citeproof.agents.answer_composer import AnswerComposer
from citeproof.agents.answerability_verifier import UNSURE
from citeproof.errors import BudgetExceededError, StoreError, VerifierOutageError
from citeproof.runtime.events import AnswerReady, ClaimAccepted, ClaimRejected
from citeproof.testing import TableEntailment
from citeproof.tools.entailment.base import Pair, Score
from citeproof.types import Answer, Citation, Claim
from tests.agents.one_node import Log, noted, told
from tests.agents.states import BUILT, LIT, A, B, C, claim, judged, state

UNREAD = "No verifier LM has read this answer."
SPENT = "The budget of 3 calls is spent."
CALM: dict[str, Any] = {
    "method": "calm",
    "unverified": "keep",
    "agreement": True,
    "doubt": UNREAD,
}


def proved(text: str, *numbers: int) -> Claim:
    return judged(claim(text, *numbers), "supported", tier="cited", score=0.9)


AGAINST = (Citation(passage_id="b", number=2),)
DISPUTED = proved(BUILT, 1).model_copy(update={"against": AGAINST})
HALF = [proved(LIT, 2), judged(claim(BUILT, 3), "unsupported")]
BOTH = [proved(LIT, 2), proved(BUILT, 1)]


async def composed(node: AnswerComposer | None = None, **changes: Any) -> Answer:
    update = await (node or AnswerComposer())(state(**changes))
    assert update.keys() - {"messages"} == {"answer"}
    answer = update["answer"]
    assert isinstance(answer, Answer)
    return answer


# Text and numbers


async def test_numbers_follow_first_use_and_marks_ascend() -> None:
    one, two, three = proved("One.", 3), proved("Two.", 1, 3), proved("Three.", 2, 1)
    answer = await composed(claims=[one, two, three])

    def numbered(text: str, **numbers: int) -> Claim:
        citations = tuple(Citation(passage_id=i, number=n) for i, n in numbers.items())
        return Claim(text=text, citations=citations, verdict=one.verdict)

    assert answer == Answer(
        question="Who built the tower?",
        method="vtg",
        status="answered",
        text="One [1]. Two [1][2]. Three [2][3].",
        claims=(
            numbered("One.", c=1),
            numbered("Two.", c=1, a=2),
            numbered("Three.", a=2, b=3),
        ),
        passages=(C, A, B),
    )


@pytest.mark.parametrize("unverified", ["keep", "flag"])
async def test_a_list_has_commas_and_no_flags(unverified: Any) -> None:
    """Names without marks stand last, else they would be read as the beginning of the next."""
    claims = [
        proved("Ann Lee", 2),
        judged(claim("Bo Ray"), "unsupported"),
        proved("Rome, Italy", 1),
    ]
    answer = await composed(AnswerComposer("calm", unverified, form="list"), claims=claims)
    assert answer.text == "Ann Lee [1], Rome, Italy [2], Bo Ray"


# Claims that are not supported


async def test_a_claim_that_is_not_supported_may_be_left_out() -> None:
    answer = await composed(AnswerComposer("r2-mga", "drop"), claims=HALF)
    assert (answer.method, answer.status) == ("r2-mga", "partial")
    assert (answer.text, answer.reason) == (f"{LIT[:-1]} [1].", "1 unproved claim was left out.")
    assert [c.text for c in answer.claims] == [LIT]


# Status and reason


@pytest.mark.parametrize(
    ("claims", "changes", "reason"),
    [
        ([proved(LIT, 2)], {"stop": SPENT}, SPENT),
        ([claim(LIT, 2)], {}, "The claim was not checked."),
        ([claim(LIT, 2)], {"stop": SPENT}, f"{SPENT} The claim was not checked."),
        ([proved(LIT, 2), claim(BUILT, 1)], {}, "1 of 2 claims were not checked."),
        (
            [*HALF, claim(LIT, 2)],
            {},
            "1 of 3 claims were not checked. 1 of 3 claims could not be proved.",
        ),
        ([proved(LIT, 2)], {"doubt": "They may not suffice."}, "They may not suffice."),
        (
            [claim(LIT, 2)],
            {"doubt": "They may not suffice."},
            "They may not suffice. The claim was not checked.",
        ),
        ([proved(LIT, 2)], {"doubt": "They may not suffice.", "stop": SPENT}, SPENT),
        ([DISPUTED], {}, "Passages say otherwise about 1 claim."),
        ([proved(LIT, 2)], {"dropped": ["x", "y"]}, "2 unproved claims were left out."),
        (
            HALF,
            {"stop": SPENT, "dropped": ["x"]},
            f"{SPENT} 1 of 2 claims could not be proved. 1 unproved claim was left out.",
        ),
    ],
)
async def test_why_an_answer_is_partial(
    claims: list[Claim], changes: dict[str, Any], reason: str
) -> None:
    answer = await composed(claims=claims, **changes)
    assert (answer.status, answer.reason) == ("partial", reason)


@pytest.mark.parametrize(
    ("knobs", "changes", "reason"),
    [
        ({}, {}, "The passages that were found do not answer the question."),
        ({}, {"passages": []}, "No passage was found for the question."),
        ({}, {"stop": SPENT}, SPENT),
        ({}, {"stop": SPENT, "passages": []}, SPENT),
        ({}, {"rejected": ["x"]}, "No claim could be proved from the passages."),
        ({}, {"rejected": ["x"], "stop": SPENT}, SPENT),
        ({}, {"dropped": ["x"]}, "No claim could be proved from the passages."),
        (
            {},
            {"dropped": ["x"], "stop": "Spent."},
            "Spent. No claim could be proved from the passages.",
        ),
        ({}, {"answerable": False}, "None of the passages that were found answers the question."),
        (CALM, {"doubt": None}, "The passages that were found do not answer the question."),
        (CALM, {"doubt": "Unread."}, "The passages that were found do not answer the question."),
        ({"closed_book": True}, {"passages": []}, "The model gave no answer."),
        ({"closed_book": True}, {"passages": [], "stop": SPENT}, SPENT),
        ({"answer": False}, {}, "No answer was requested."),
        ({"answer": False}, {"doubt": "Too few."}, "Too few. No answer was requested."),
        (
            {},
            {"doubt": "No passage was found for the question.", "passages": []},
            "No passage was found for the question.",
        ),
    ],
)
async def test_why_there_is_no_answer(knobs: Any, changes: dict[str, Any], reason: str) -> None:
    answer = await composed(AnswerComposer(**knobs), **changes)
    assert (answer.status, answer.reason, answer.text) == ("not_found", reason, "")
    shown = [near.passage for near in answer.nearest]
    assert shown == ([] if changes.get("passages") == [] else [A, B])


async def test_the_passages_that_were_ranked_best_are_the_nearest() -> None:
    answer = await composed(long_term=["c", "b"], short_term=["a"])
    assert [near.passage for near in answer.nearest] == [C, B, A]


# Events


async def test_claims_are_told_as_they_are_accepted_or_dropped() -> None:
    given = state(claims=HALF)
    first, last, ready = await told(AnswerComposer(unverified="drop"), given)
    assert (first, last) == (
        ClaimAccepted(claim=HALF[0]),
        ClaimRejected(text=BUILT, reason="dropped: it could not be verified"),
    )
    assert isinstance(ready, AnswerReady)
    [ready] = await told(AnswerComposer(announce=False), given)
    assert isinstance(ready, AnswerReady)


# Notes and evidence


async def test_what_is_cited_is_recorded() -> None:
    log: Any = Log()
    claims = [proved("One.", 3, 1), proved("Two."), judged(claim("Three.", 2), "unsupported")]
    await composed(AnswerComposer("mine", evidence=log), claims=claims)
    same = {"question": "Who built the tower?", "method": "mine"}
    assert log.records == [
        {**same, "claim": "One.", "passages": [C, A], "status": "supported"},
        {**same, "claim": "Three.", "passages": [B], "status": "unsupported"},
    ]


async def test_a_log_that_fails_costs_the_record_not_the_answer() -> None:
    log: Any = Log(StoreError("The disk is full"))
    answer, notes = await noted(composed(AnswerComposer(evidence=log), claims=HALF))
    assert set(notes) == {"the cited evidence was not recorded: The disk is full."}
    assert [c.text for c in answer.claims] == [LIT, BUILT]


# Does it answer?


def answering(*texts: str) -> TableEntailment:
    """Says that these texts answer, whatever the question."""
    said = set(texts)
    return TableEntailment(lambda text, _: 0.9 if text.rpartition("\n")[2] in said else 0.1)


NO_ANSWER = "No claim answers the question."
BESIDE = "No claim answers the question; this is what the passages say."


@pytest.mark.parametrize(
    ("model", "knobs", "claims", "status", "reason"),
    [
        (answering(), {}, [proved(LIT, 2)], "not_found", BESIDE),
        (
            answering(),
            {},
            [judged(claim(LIT, 2), "unsupported")],
            "not_found",
            f"{NO_ANSWER} The claim could not be proved.",
        ),
        (
            answering(),
            {},
            [claim(LIT, 2)],
            "not_found",
            f"{NO_ANSWER} The claim was not checked.",
        ),
        (
            answering(),
            {},
            HALF,
            "not_found",
            f"{NO_ANSWER} 1 of 2 claims could not be proved.",
        ),
        (answering(), {"check_answer": False}, [proved(LIT, 2)], "answered", ""),
        (answering(), {"form": "list"}, [proved(LIT, 2)], "answered", ""),
        (answering(BUILT), {}, BOTH, "answered", ""),
        (answering(f"{LIT} {BUILT}"), {}, BOTH, "answered", ""),
        (
            TableEntailment(lambda *_: 0.3),
            {},
            [proved(LIT, 2)],
            "partial",
            "It is not sure that this answers the question.",
        ),
        (
            answering(BUILT),
            {},
            HALF,
            "partial",
            "The claim that answers the question could not be proved. "
            "1 of 2 claims could not be proved.",
        ),
    ],
)
async def test_proved_claims_must_answer_the_question(
    model: TableEntailment, knobs: Any, claims: list[Claim], status: str, reason: str
) -> None:
    answer = await composed(AnswerComposer(answerability=model, **knobs), claims=claims)
    assert (answer.status, answer.reason, answer.nearest) == (status, reason, ())
    assert len(answer.claims) == len(claims), "they are shown all the same"


@pytest.mark.parametrize(
    ("said", "status"),
    [(proved(LIT, 2), "partial"), (judged(claim(LIT, 2), "unsupported"), "not_found")],
)
async def test_where_the_judge_overruled_the_model_a_proved_claim_may_answer(
    said: Claim, status: str
) -> None:
    answer = await composed(AnswerComposer(answerability=answering()), claims=[said], doubt=UNSURE)
    assert answer.status == status
    assert answer.reason.count(UNSURE) == 1


MISSING = "Not answered: When built the tower?"


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ([proved(BUILT, 1)], MISSING),
        (
            [proved(BUILT, 1), judged(claim(BUILT, 1), "unsupported")],
            f"{MISSING} 1 of 2 claims could not be proved.",
        ),
        (
            [judged(claim(BUILT, 1), "unsupported")],
            f"{MISSING} The claim could not be proved.",
        ),
    ],
)
async def test_a_part_of_the_question_that_nothing_answers_is_named(
    claims: list[Claim], reason: str
) -> None:
    model = TableEntailment(lambda text, asked: 0.9 if asked.startswith("Who") else 0.1)
    answer = await composed(
        AnswerComposer(answerability=model),
        question="Who built the tower, and when?",
        claims=claims,
    )
    assert (answer.status, answer.reason) == ("partial", reason)


# Passages that say otherwise


class Denying(TableEntailment):
    """Finds that every passage contradicts every claim, or fails."""

    final_below = 0.9

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__({})
        self._fails = fails

    async def quick_scores(self, pairs: Sequence[Pair]) -> list[float]:
        if self._fails:
            raise VerifierOutageError("gone")
        return [Score(0.0, 0.9) for _ in pairs]


OLD = A.model_copy(update={"id": "old"})


async def test_other_passages_of_the_memory_that_contradict_a_proved_claim_are_told() -> None:
    claims = [proved(BUILT, 1), judged(claim(BUILT, 1), "unsupported")]
    given = {"claims": claims, "passages": [A, OLD, B], "long_term": ["a", "old"]}
    answer = await composed(AnswerComposer(entailment=Denying()), **given)
    assert [[one.passage_id for one in told.against] for told in answer.claims] == [["old"], []]
    assert answer.status == "partial"
    assert "Passages say otherwise about 1 claim." in answer.reason
    unchecked = AnswerComposer(entailment=Denying(), check_answer=False)
    assert not any(told.against for told in (await composed(unchecked, **given)).claims)


async def test_an_outage_leaves_the_answer_without_what_says_otherwise() -> None:
    given = {"claims": [proved(BUILT, 1)], "passages": [A, OLD], "long_term": ["a", "old"]}
    node = AnswerComposer(entailment=Denying(fails=True))
    answer, notes = await noted(composed(node, **given))
    assert answer.status == "answered"
    assert notes == ["whether passages say otherwise was not checked: gone."]


async def test_a_contradicted_claim_is_flagged_and_shows_by_what() -> None:
    denied = judged(claim(BUILT, 1), "contradicted", tier="memory", score=0.1)
    answer = await composed(claims=[denied.model_copy(update={"against": AGAINST})])
    assert answer.text == f"{BUILT[:-1]} [1]. [contradicted]"
    assert answer.reason == "The claim could not be proved. Passages say otherwise about 1 claim."
    assert answer.passages == (A, B)
    assert answer.claims[0].against == AGAINST


@pytest.mark.parametrize("kind", [BudgetExceededError, VerifierOutageError])
async def test_an_answer_is_composed_if_the_model_is_gone(kind: type[Exception]) -> None:
    def gone(premise: str, hypothesis: str) -> NoReturn:
        raise kind("The entailment server does not answer")

    node = AnswerComposer(answerability=TableEntailment(gone))
    update, [told] = await noted(node(state()))
    assert "found by their words alone: The entailment server does not answer" in told
    assert [near.passage for near in update["answer"].nearest] == [A, B]
    update, [told] = await noted(node(state(claims=[proved(LIT, 2)])))
    assert "was not checked: The entailment server does not answer" in told
    assert update["answer"].status == "answered"


@pytest.mark.parametrize(
    ("knobs", "changes", "asks"),
    [
        ({}, {}, True),
        ({"answer": False}, {}, False),
        ({"check_answer": False}, {}, False),
        ({}, {"stop": SPENT}, False),
    ],
)
async def test_a_model_finds_the_nearest_sentences_only_for_an_answer_that_is_read(
    knobs: Any, changes: dict[str, Any], asks: bool
) -> None:
    model = TableEntailment(lambda *_: 0.1)
    answer = await composed(AnswerComposer(answerability=model, **knobs), **changes)
    assert len(answer.nearest) == 2
    assert bool(model.pairs) == asks
