"""The candidate retriever opens a round with what is new."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import Passage
from citeproof.agents.retriever import CandidateRetriever
from citeproof.errors import InputError, RetrievalError
from citeproof.state import SearchRound
from citeproof.testing import ListRetriever, passage
from tests.agents.search_states import BY_NAME, FIRST, search_state
from tests.agents.states import B, C


def candidates(names: str, **knobs: Any) -> tuple[CandidateRetriever, ListRetriever]:
    source = ListRetriever(lambda query: [BY_NAME[name] for name in names])
    return CandidateRetriever(source, **{"k": 2, **knobs}), source


def empty(**changes: Any) -> Any:
    nothing: dict[str, Any] = {"passages": [], "long_term": [], "waiting": [], "rounds": []}
    return search_state(**{**nothing, **changes})


async def test_the_first_candidates_fill_d_and_all_of_them_wait() -> None:
    node, source = candidates("abcd")
    update = await node(empty(query="a query"))
    assert source.queries == ["a query"]
    assert update["long_term"] == ["a", "b"]
    assert update["waiting"] == ["a", "b", "c", "d"]
    assert update["rounds"] == [SearchRound(query="a query", found=4, new=4)]


async def test_at_most_n_candidates_are_found() -> None:
    node, _ = candidates("abcdefgh", candidates=3)
    assert (await node(empty()))["waiting"] == ["a", "b", "c"]


async def test_n_is_never_less_than_k() -> None:
    node, _ = candidates("abcdefgh", candidates=1)
    assert (await node(empty()))["long_term"] == ["a", "b"]


async def test_no_more_than_k_leave_nothing_to_choose() -> None:
    node, _ = candidates("ab")
    update = await node(empty())
    assert (update["long_term"], update["waiting"]) == (["a", "b"], [])


async def test_passages_of_earlier_rounds_do_not_wait_again() -> None:
    node, _ = candidates("cahb")
    state: Any = search_state(passages=[BY_NAME[n] for n in "abc"], waiting=[], query="more")
    update = await node(state)
    assert update["waiting"] == ["h"]
    assert update["long_term"] == ["a", "b"]
    assert update["rounds"] == [FIRST, SearchRound(query="more", found=4, new=1)]


async def test_with_reread_only_those_of_d_do_not_wait_again() -> None:
    node, _ = candidates("cahb", reread=True)
    state: Any = search_state(passages=[BY_NAME[n] for n in "abc"], waiting=[])
    update = await node(state)
    assert update["waiting"] == ["c", "h"]
    assert update["rounds"][-1].new == 1


async def test_a_retriever_that_repeats_itself_is_read_once() -> None:
    node, _ = candidates("aabbcc")
    update = await node(empty())
    assert update["waiting"] == ["a", "b", "c"]
    assert update["rounds"][0].found == 3


async def test_documents_with_the_question_are_searched() -> None:
    documents = ["Bo Ray kept the light.", "Cats sleep all day."]
    node = CandidateRetriever(k=1, candidates=1)
    state: Any = {**empty(query="Who kept the light?"), "documents": documents}
    update = await node(state)
    assert update["passages"] == [passage(documents[0], source="document 1")]
    corpus: Any = {**empty(query="Who kept the light?"), "corpus": [B, C]}
    assert (await node(corpus))["passages"] == [C]


async def test_neither_retriever_nor_documents_is_an_error() -> None:
    with pytest.raises(InputError, match="nothing to answer from"):
        await CandidateRetriever(None)(empty())


async def test_a_retriever_that_fails_is_an_error() -> None:
    def fail(query: str) -> list[Passage]:
        raise RetrievalError("The index is gone")

    with pytest.raises(RetrievalError, match="The index is gone"):
        await CandidateRetriever(ListRetriever(fail))(empty())
