"""The claims assessor names the sentences that nothing states, and those that cite wrongly."""

from __future__ import annotations

from citeproof.agents.assessor import ClaimsAssessor
from citeproof.state import Reflection
from citeproof.testing import TableEntailment
from tests.agents.calm_states import BUILT, claim
from tests.agents.r2_mga_states import FAULTY, reflecting

LIT = "The tower was lit in 1871."
MADE_UP = "The tower sank."


def assessor() -> tuple[ClaimsAssessor, TableEntailment]:
    model = TableEntailment(lambda text, said: 0.9 if said in text else 0.1)
    return ClaimsAssessor(model), model


async def assessed(**state: object) -> Reflection:
    rounds: list[Reflection] = (await assessor()[0](reflecting(**state)))["rounds"]
    return rounds[-1]


async def test_an_answer_that_its_citations_state_has_no_fault() -> None:
    done = await assessed(claims=[claim(BUILT, 1), claim(LIT, 1, 2)])
    assert (done.complete, done.correct, done.cited, done.faulty) == (None, True, True, False)
    assert done.feedback.splitlines() == [
        "Correct: yes. The passages state every sentence.",
        "Well cited: yes. Each sentence is stated by what it cites.",
    ]
    assert done.answer == f"{BUILT[:-1]} [1]. {LIT[:-1]} [1][2]."


async def test_a_wrong_citation_is_named_with_the_right_one() -> None:
    done = await assessed(claims=[claim(BUILT, 2, 3), claim(LIT)])
    assert (done.correct, done.cited, done.faulty) == (True, False, True)
    assert done.feedback.splitlines()[1] == (
        f"Well cited: no. [1] states this, not [2][3]: {BUILT} "
        f"[2] states this, yet nothing is cited: {LIT}"
    )


async def test_of_two_claims_of_one_wording_each_has_its_own_citations() -> None:
    done = await assessed(claims=[claim(BUILT, 1), claim(BUILT, 2)])
    assert done.feedback.splitlines()[1] == f"Well cited: no. [1] states this, not [2]: {BUILT}"


async def test_a_sentence_that_no_passage_states_is_named() -> None:
    done = await assessed(claims=[claim(MADE_UP, 1), claim(BUILT, 1)])
    assert (done.correct, done.cited, done.faulty) == (False, False, True)
    assert done.feedback == f"Correct: no. No passage states this: {MADE_UP}"


async def test_of_two_passages_that_state_it_the_first_is_named() -> None:
    model = TableEntailment(lambda *_: 0.9)
    [done] = (await ClaimsAssessor(model)(reflecting(claims=[claim(BUILT)])))["rounds"]
    assert "[1] states this" in done.feedback


async def test_rounds_are_counted_on() -> None:
    node, _ = assessor()
    first, second = (await node(reflecting(rounds=[FAULTY])))["rounds"]
    assert (first, second.number) == (FAULTY, 2)


async def test_single_passages_are_asked_only_where_the_citations_fail() -> None:
    node, model = assessor()
    await node(reflecting(claims=[claim(BUILT, 1), claim(LIT, 1)]))
    assert len(model.pairs) == 2 + 3


async def test_without_passages_nothing_is_stated() -> None:
    done = await assessed(claims=[claim(BUILT)], passages=[], long_term=[])
    assert not done.correct
