"""The retrieval composer ends a run with what was chosen and what was answered."""

from __future__ import annotations

from typing import Any

from citeproof import Citation, Claim, Usage, Verdict
from citeproof.agents.retrieval_composer import RetrievalComposer
from citeproof.state import SearchRound, Swap
from tests.agents.search_states import BY_NAME, search_state

YES = SearchRound(query="Who?", found=8, new=8, sufficient=True)
NO = SearchRound(query="Who?", found=8, new=8, sufficient=False)
CLAIM = Claim(
    text="It is b.",
    citations=(Citation(passage_id="b", number=2),),
    verdict=Verdict(status="unchecked", reason="x"),
)


async def compose(answer: bool = True, **changes: Any) -> Any:
    composer = RetrievalComposer(answer=answer)
    state: Any = {"usage": Usage(), **search_state(**{"waiting": [], **changes})}
    return await composer(state)


async def test_chosen_passages_stand_in_their_order() -> None:
    swap = Swap(round=1, entered=(BY_NAME["b"],))
    update = await compose(long_term=["b", "a"], rounds=[NO, YES], swaps=[swap])
    retrieval = update["retrieval"]
    assert retrieval.passages == (BY_NAME["b"], BY_NAME["a"])
    assert (retrieval.verified, retrieval.candidates) == (True, 8)
    assert (retrieval.rounds, retrieval.swaps) == ((NO, YES), (swap,))


async def test_the_answer_is_unchecked_and_numbered_anew() -> None:
    answer = (await compose(rounds=[YES], claims=[CLAIM]))["answer"]
    assert answer.text == "It is b [1]."
    assert (answer.status, answer.reason) == ("partial", "The claims were not checked.")
    assert (answer.method, answer.passages) == ("llatrieval", (BY_NAME["b"],))


async def test_an_answer_from_passages_that_do_not_suffice_says_so() -> None:
    update = await compose(rounds=[NO, NO], claims=[CLAIM])
    unfit = "The passages were not found to suffice after 2 rounds."
    assert update["retrieval"].reason == unfit
    assert update["answer"].reason == f"{unfit} The claims were not checked."


async def test_no_answer_was_asked_for() -> None:
    answer = (await compose(answer=False, rounds=[YES]))["answer"]
    assert (answer.status, answer.reason) == ("abstained", "No answer was asked for.")


async def test_an_answerer_that_wrote_nothing() -> None:
    answer = (await compose(rounds=[YES]))["answer"]
    assert answer.reason == "The passages that were found do not answer the question."


async def test_what_the_budget_left_unread_is_no_candidate() -> None:
    update = await compose(waiting=list("abgh"), stop="The budget is spent.")
    assert update["retrieval"].candidates == 6
    assert update["retrieval"].verified is False
    assert update["retrieval"].reason == "The budget is spent."
    assert update["answer"].reason == "The budget is spent."


async def test_a_budget_spent_after_the_search_leaves_it_verified() -> None:
    update = await compose(rounds=[YES], stop="The budget is spent.")
    assert update["retrieval"].verified is True
    assert update["retrieval"].reason == "The passages were found to suffice."
    assert update["answer"].reason == "The budget is spent."


async def test_nothing_found() -> None:
    update = await compose(passages=[], long_term=[], rounds=[NO])
    assert update["retrieval"].reason == "No passage was found for the question."
    assert update["answer"].reason == "No passage was found for the question."
