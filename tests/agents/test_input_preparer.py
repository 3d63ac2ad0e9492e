"""The input of a round: the kept passages, then unseen ones, k in all."""

from typing import Any

import pytest

from citeproof import Passage
from citeproof.agents.corrector import InputPreparer
from citeproof.state import memory_passages
from tests.agents.calm_states import BUILT, LIT, candidate, claim

POOL = [Passage(id=c, text=c) for c in "abcdefg"]


@pytest.mark.parametrize(
    ("cited", "long_term", "short_term", "shown"),
    [
        ([], "", "def", 6),
        ([2], "b", "de", 5),
        ([3, 1], "ac", "d", 4),
        ([1, 2, 3], "abc", "", 3),
    ],
)
async def test_kept_passages_are_filled_up_with_unseen_ones(
    cited: list[int], long_term: str, short_term: str, shown: int
) -> None:
    kept = [claim(BUILT, *cited[:1]), claim(LIT, *cited)]
    state = candidate(passages=POOL, shown=3, long_term=["g"], kept=kept)
    update = await InputPreparer(k=3)(state)
    assert update == {
        "long_term": list(long_term),
        "short_term": list(short_term),
        "shown": shown,
    }
    after: Any = {**state, **update}
    read = memory_passages(after)
    assert "".join(passage.id for passage in read.values()) == long_term + short_term


async def test_the_last_passages_of_the_pool_may_be_fewer_than_fit() -> None:
    update = await InputPreparer(k=5)(candidate(passages=POOL, shown=6))
    assert (update["short_term"], update["shown"]) == (["g"], 7)


async def test_an_exhausted_pool_stops_the_run_and_says_so() -> None:
    update = await InputPreparer(k=3)(candidate(passages=POOL, shown=7, kept=[claim(LIT, 1)]))
    assert update == {"stop": "All 7 passages were read before the two models agreed."}


async def test_a_full_draft_goes_on_without_unseen_passages() -> None:
    kept = [claim(LIT, 1, 2)]
    update = await InputPreparer(k=2)(candidate(passages=POOL, shown=7, kept=kept))
    assert update == {"long_term": ["a", "b"], "short_term": [], "shown": 7}
