"""The pool is fetched once; its top is what the main LM reads first."""

import pytest

from citeproof import Passage
from citeproof.agents.pool_retriever import PoolRetriever
from citeproof.testing import ListRetriever

POOL = [Passage(id=str(n), text=f"Text {n}.") for n in range(9)]


@pytest.mark.parametrize(
    ("pool", "k", "fetched", "shown"), [(7, 3, 7, 3), (2, 3, 3, 3), (100, 20, 9, 9)]
)
async def test_the_pool_and_its_top(pool: int, k: int, fetched: int, shown: int) -> None:
    source = ListRetriever(lambda _: POOL)
    update = await PoolRetriever(source, pool=pool, k=k)({"question": "Who?"})
    assert update["passages"] == POOL[:fetched]
    assert update["short_term"] == [passage.id for passage in POOL[:shown]]
    assert update["shown"] == shown
    assert source.queries == ["Who?"]


async def test_nothing_of_an_earlier_run_is_left() -> None:
    update = await PoolRetriever(ListRetriever([]))({"question": "Who?"})
    assert update["stop"] == ""
    empty = {key for key, value in update.items() if value == []}
    assert empty == {
        "passages",
        "long_term",
        "short_term",
        "claims",
        "rejected",
        "dropped",
        "verifier_claims",
        "kept",
        "rounds",
    }


async def test_documents_are_a_pool_as_well() -> None:
    update = await PoolRetriever(None, k=1)(
        {"question": "Who built the tower?", "documents": ["Ann Lee built the tower.", "The sea."]}
    )
    assert update["passages"][0].text == "Ann Lee built the tower."
    assert update["shown"] == 1
