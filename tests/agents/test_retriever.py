"""The retriever fills the long-term memory."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof.agents.retriever import Retriever, given
from citeproof.testing import ListRetriever
from tests.agents.states import A, B, C


async def test_the_k_best_passages_fill_the_long_term_memory() -> None:
    source = ListRetriever(lambda query: [C, A, B] if query == "Who?" else [])
    update = await Retriever(source, k=2)({"question": "Who?"})
    assert update["passages"] == [C, A]
    assert update["long_term"] == ["c", "a"]
    assert (update["short_term"], update["claims"], update["draft"]) == ([], [], None)


async def test_documents_are_ranked_for_the_question() -> None:
    documents = ["Bo Ray kept the light.", "Cats sleep all day.", "Ann Lee built the tower."]
    update = await Retriever(None, k=1)(
        {"question": "Who built the tower?", "documents": documents}
    )
    assert [passage.text for passage in update["passages"]] == ["Ann Lee built the tower."]


async def test_ranked_documents_are_taken_in_their_order_each_once() -> None:
    source = ListRetriever([A])
    update = await Retriever(source, k=2, ranked=True)(
        {"question": "Who built the tower?", "documents": [C, C, B, A]}
    )
    assert update["passages"] == [C, B]
    assert source.queries == []


async def test_without_documents_a_ranked_run_searches() -> None:
    source = ListRetriever([A])
    update = await Retriever(source, ranked=True)({"question": "Who built the tower?"})
    assert update["passages"] == [A]


def test_pieces_that_share_an_id_are_told_apart() -> None:
    pieces = [{"id": "d", "text": "The bridge is red."}, {"id": "d", "text": "It is old."}]
    first, second = given(pieces)
    assert (first.text, second.text) == ("The bridge is red.", "It is old.")
    assert first.id == "d"
    assert second.id != "d"
    assert given(pieces) == [first, second], "a second run gives the same ids"


def test_a_document_that_is_repeated_keeps_its_id() -> None:
    assert given([A, B, A]) == [A, B, A]


async def test_both_pieces_can_be_found() -> None:
    pieces = [{"id": "d", "text": "The bridge is red."}, {"id": "d", "text": "Ann built it."}]
    update = await Retriever(None, k=1)({"question": "Who is Ann?", "documents": pieces})
    assert [passage.text for passage in update["passages"]] == ["Ann built it."]


@pytest.mark.parametrize("of", [str, dict])
def test_half_of_a_surrogate_pair_is_replaced(of: type) -> None:
    text = "built \ud83d in 1990"
    document: Any = text if of is str else {"text": text, "title": text}
    [passage] = given([document])
    assert passage.text == "built \ufffd in 1990"
    for part in (passage.id, passage.title, passage.source):
        assert part.encode("utf-8").decode("utf-8") == part
