"""The retriever fills one of the memories."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof.agents.retriever import CandidateRetriever, Retriever
from citeproof.runtime.meter import Meter, use_meter
from citeproof.testing import ListRetriever, passage
from citeproof.types import Passage
from tests.agents.states import BY_NAME, PASSAGES, A, B, C, search_state

ASKED: Any = {"question": "Who built the tower?"}


def asked(**changes: Any) -> Any:
    return {**ASKED, **changes}


async def test_the_k_best_passages_fill_the_long_term_memory() -> None:
    """Each once, if the retriever repeats itself."""
    source = ListRetriever(lambda query: [C, A, C, B] if query == ASKED["question"] else [])
    with use_meter(Meter()) as meter:
        update = await Retriever(source, k=3)(ASKED)
    assert update == {
        "passages": [C, A],
        "long_term": ["c", "a"],
        "short_term": [],
        "shown": 2,
    }
    assert meter.used.retrievals == 1


async def test_the_corpus_goes_before_the_documents_and_the_retriever() -> None:
    source = ListRetriever([A])
    update = await Retriever(source)(asked(corpus=[B, C], documents=["The tower."]))
    assert (update["passages"], update["corpus"]) == ([B], [B, C])
    documents = ["Bo Ray kept the light.", "Ann Lee built the tower."]
    update = await Retriever(source, k=1)(asked(documents=documents))
    assert update["passages"] == [passage(documents[1], source="document 2")]
    assert [document.text for document in update["corpus"]] == documents
    assert source.queries == []


async def test_ranked_documents_are_taken_in_their_order_each_once() -> None:
    source = ListRetriever([A])
    with use_meter(Meter()) as meter:
        update = await Retriever(source, k=2, ranked=True)(asked(documents=[C, C, B, A]))
    assert (update["passages"], update["long_term"]) == ([C, B], ["c", "b"])
    assert (source.queries, meter.used.retrievals) == ([], 0)


# A pool, of which the main LM reads the top first (CaLM)

POOL = [Passage(id=str(n), text=f"Text {n}.") for n in range(9)]


@pytest.mark.parametrize(
    ("pool", "k", "fetched", "shown"),
    [(7, 3, 7, 3), (2, 3, 3, 3), (100, 20, 9, 9), (0, 4, 4, 4)],
)
async def test_the_pool_and_its_top(pool: int, k: int, fetched: int, shown: int) -> None:
    source = ListRetriever(lambda _: POOL)
    update = await Retriever(source, pool=pool, k=k, fills="short_term")(ASKED)
    assert update == {
        "passages": POOL[:fetched],
        "long_term": [],
        "short_term": [passage.id for passage in POOL[:shown]],
        "shown": shown,
    }
    assert source.queries == ["Who built the tower?"]


@pytest.mark.parametrize("ranked", [True, False])
async def test_documents_are_a_pool_as_well(ranked: bool) -> None:
    node = Retriever(k=1, pool=2, ranked=ranked, fills="short_term")
    update = await node(asked(documents=[C, A, B]))
    # C is not found for the question, yet it is what a pool of two is filled with in order.
    assert update["passages"] == ([C, A] if ranked else [A, B])
    assert (update["short_term"], update["shown"]) == (["c" if ranked else "a"], 1)


# What a round of a search opens with


def candidates(names: str, **knobs: Any) -> tuple[CandidateRetriever, ListRetriever]:
    source = ListRetriever(lambda query: [BY_NAME[name] for name in names])
    return CandidateRetriever(source, **{"k": 2, **knobs}), source


def empty(**changes: Any) -> Any:
    nothing: dict[str, Any] = {"passages": [], "long_term": [], "waiting": [], "rounds": []}
    return search_state(**{**nothing, **changes})


@pytest.mark.parametrize(
    ("found", "most", "chosen", "waiting"),
    [
        ("abcdefgh", 3, "ab", "abc"),
        ("abcdefgh", 1, "ab", ""),  # never fewer than k
        ("ab", 50, "ab", ""),  # nothing to choose
    ],
)
async def test_at_most_n_candidates_are_found(
    found: str, most: int, chosen: str, waiting: str
) -> None:
    node, _ = candidates(found, candidates=most)
    update = await node(empty())
    assert (update["long_term"], update["waiting"]) == (list(chosen), list(waiting))


async def test_with_reread_only_those_of_d_do_not_wait_again() -> None:
    node, _ = candidates("cahb", reread=True)
    update = await node(search_state(passages=PASSAGES[:3], waiting=[]))
    assert update["waiting"] == ["c", "h"]
    assert update["rounds"][-1].new == 1
