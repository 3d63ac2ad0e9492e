"""The retriever fills the long-term memory."""

from citeproof.agents.retriever import Retriever
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
