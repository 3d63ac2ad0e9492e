"""The retriever fills one of the memories."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from citeproof.agents.retriever import Retriever
from citeproof.errors import InputError, RetrievalError
from citeproof.runtime.events import PassagesRetrieved
from citeproof.runtime.meter import Meter, use_meter
from citeproof.testing import ListRetriever, passage
from citeproof.types import Passage
from tests.agents.one_node import told
from tests.agents.states import A, B, C

ASKED: Any = {"question": "Who built the tower?"}


def asked(**changes: Any) -> Any:
    return {**ASKED, **changes}


async def test_the_k_best_passages_fill_the_long_term_memory() -> None:
    source = ListRetriever(lambda query: [C, A, B] if query == "Who built the tower?" else [])
    with use_meter(Meter()) as meter:
        update = await Retriever(source, k=2)(ASKED)
    assert update == {
        "passages": [C, A],
        "long_term": ["c", "a"],
        "short_term": [],
        "shown": 2,
        "corpus": [],
    }
    assert meter.used.retrievals == 1


async def test_what_is_found_is_told() -> None:
    events = await told(Retriever(ListRetriever(lambda _: [C, A, B]), k=2), ASKED)
    assert events == [PassagesRetrieved(passages=(C, A))]


async def test_documents_are_ranked_for_the_question() -> None:
    documents = ["Bo Ray kept the light.", "Cats sleep all day.", "Ann Lee built the tower."]
    source = ListRetriever([A])
    update = await Retriever(source, k=1)(asked(documents=documents))
    assert update["passages"] == [passage(documents[2], source="document 3")]
    assert [document.text for document in update["corpus"]] == documents
    assert source.queries == []


async def test_the_corpus_goes_before_the_documents_and_the_retriever() -> None:
    source = ListRetriever([A])
    update = await Retriever(source)(asked(corpus=[B, C], documents=["The tower."]))
    assert (update["passages"], update["corpus"]) == ([B], [B, C])
    assert source.queries == []


async def test_ranked_documents_are_taken_in_their_order_each_once() -> None:
    source = ListRetriever([A])
    with use_meter(Meter()) as meter:
        update = await Retriever(source, k=2, ranked=True)(asked(documents=[C, C, B, A]))
    assert (update["passages"], update["long_term"]) == ([C, B], ["c", "b"])
    assert (source.queries, meter.used.retrievals) == ([], 0)


async def test_without_documents_a_ranked_run_searches() -> None:
    update = await Retriever(ListRetriever([A]), ranked=True)(ASKED)
    assert update["passages"] == [A]


async def test_both_pieces_of_one_document_can_be_found() -> None:
    pieces = [{"id": "d", "text": "The bridge is red."}, {"id": "d", "text": "Ann built it."}]
    asked: Any = {"question": "Who is Ann?", "documents": pieces}
    update = await Retriever(k=1)(asked)
    assert update["passages"] == [Passage(id="2:d", text="Ann built it.")]


async def test_a_retriever_that_repeats_itself_is_read_once() -> None:
    update = await Retriever(ListRetriever(lambda _: [A, A, B, A]))(ASKED)
    assert (update["passages"], update["long_term"]) == ([A, B], ["a", "b"])


# What can be searched


class Fixed(BaseRetriever):
    """A retriever of LangChain's."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(id="x", page_content=f"On {query}", metadata={"source": "s"})]


async def test_a_langchain_retriever_is_searched() -> None:
    text = "On Who built the tower?"
    update = await Retriever(Fixed())(ASKED)
    assert update["passages"] == [Passage(id="x", text=text, source="s", end=len(text))]


async def test_a_list_of_passages_is_searched() -> None:
    assert (await Retriever([C, A], k=1)(ASKED))["passages"] == [A]


def test_what_is_no_retriever_is_refused() -> None:
    with pytest.raises(InputError, match="A int cannot be used as a retriever"):
        Retriever(7)


async def test_neither_retriever_nor_documents_is_an_error() -> None:
    with pytest.raises(InputError, match="There is nothing to answer from"):
        await Retriever()(asked(documents=[]))


async def test_a_retriever_that_fails_is_an_error() -> None:
    def fail(query: str) -> list[Passage]:
        raise RetrievalError("The index is gone")

    with pytest.raises(RetrievalError, match="The index is gone"):
        await Retriever(ListRetriever(fail))(ASKED)


@pytest.mark.parametrize("question", ["", " \n", None])
async def test_an_empty_question_is_an_error(question: Any) -> None:
    with pytest.raises(InputError, match="The question is empty"):
        await Retriever(ListRetriever([A]))({"question": question})


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
        "corpus": [],
    }
    assert source.queries == ["Who built the tower?"]


@pytest.mark.parametrize("ranked", [True, False])
async def test_documents_are_a_pool_as_well(ranked: bool) -> None:
    node = Retriever(k=1, pool=2, ranked=ranked, fills="short_term")
    update = await node(asked(documents=[C, A, B]))
    # C is not found for the question, yet it is what a pool of two is filled with in order.
    assert update["passages"] == ([C, A] if ranked else [A, B])
    assert (update["short_term"], update["shown"]) == (["c" if ranked else "a"], 1)
