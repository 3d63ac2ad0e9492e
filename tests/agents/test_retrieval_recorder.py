"""The retrieval recorder ends a search with what was chosen, and says whether it suffices."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof.agents.retrieval_verifier import RetrievalRecorder
from citeproof.state import Retrieval, SearchRound, Swap
from tests.agents.search_states import BY_NAME, search_state

YES = SearchRound(query="Who?", found=8, new=8, sufficient=True)
NO = SearchRound(query="Who?", found=8, new=8, sufficient=False)
OPEN = SearchRound(query="Who?", found=8, new=8)
SPENT = "The budget of 3 calls is spent."
SUFFICE = "The passages were found to suffice."


async def recorded(**changes: Any) -> Any:
    return await RetrievalRecorder()(search_state(**{"waiting": [], **changes}))


async def test_chosen_passages_stand_in_their_order() -> None:
    swap = Swap(round=1, entered=(BY_NAME["b"],))
    assert await recorded(long_term=["b", "a"], rounds=[NO, YES], swaps=[swap]) == {
        "retrieval": Retrieval(
            verified=True,
            reason=SUFFICE,
            candidates=8,
            passages=(BY_NAME["b"], BY_NAME["a"]),
            rounds=(NO, YES),
            swaps=(swap,),
        ),
        "doubt": "",
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rounds": [NO]}, "The passages were not found to suffice after 1 round."),
        ({"rounds": [NO, NO]}, "The passages were not found to suffice after 2 rounds."),
        ({"rounds": [NO, OPEN]}, "The passages were not found to suffice after 2 rounds."),
        ({"rounds": [NO], "stop": SPENT}, SPENT),
        ({"rounds": [], "stop": SPENT, "long_term": [], "passages": []}, SPENT),
        (
            {"rounds": [NO], "long_term": [], "passages": []},
            "No passage was found for the question.",
        ),
    ],
)
async def test_an_answer_from_passages_that_do_not_suffice_is_in_doubt(
    changes: dict[str, Any], reason: str
) -> None:
    update = await recorded(**changes)
    assert update["doubt"] == reason
    assert (update["retrieval"].verified, update["retrieval"].reason) == (False, reason)


async def test_a_budget_spent_after_the_search_leaves_it_verified() -> None:
    update = await recorded(rounds=[YES], stop=SPENT)
    assert (update["retrieval"].verified, update["retrieval"].reason) == (True, SUFFICE)
    assert update["doubt"] == ""


async def test_what_the_budget_left_unread_is_no_candidate() -> None:
    """a and b are chosen though they wait; g and h were never read."""
    update = await recorded(waiting=list("abgh"), stop=SPENT)
    assert update["retrieval"].candidates == 6
    assert update["retrieval"].passages == (BY_NAME["a"], BY_NAME["b"])


async def test_a_state_without_memory_has_chosen_nothing() -> None:
    given = search_state(rounds=[NO], waiting=[])
    del given["long_term"]
    update: Any = await RetrievalRecorder()(given)
    assert update["retrieval"].passages == ()
    assert update["doubt"] == "No passage was found for the question."
