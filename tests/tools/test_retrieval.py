from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from citeproof import Toolbox, build_verbatim
from citeproof.errors import CiteproofError, InputError, RetrievalError
from citeproof.memory.index import Index
from citeproof.settings import ChromaSettings, RetrieverSettings
from citeproof.state.documents import to_passage
from citeproof.tools.retrieval import (
    HybridRetriever,
    Kind,
    Retriever,
    as_langchain,
    coerce_retriever,
    from_passages,
    from_texts,
    fuse,
    retrieve_many,
)
from citeproof.tools.retrieval.langchain import to_document
from citeproof.tools.retrieval.search_pool import Candidate, ListPool
from citeproof.types import Box, Passage
from tests.chain import run
from tests.memory.fakes import WordEmbeddings

FACTS = {
    "Tides": "High water comes to the harbour at noon, and low water at six.",
    "Sheep": "Forty sheep graze the hill behind the school.",
    "Lighthouse": "The lamp was lit for the first time in 1858.",
    "Bakery": "Bread is baked each morning with kelp from the bay.",
    "Ferry": "The Silver Tern sails twice a day except in storms.",
}
PASSAGES = [
    Passage(id=title.lower(), title=title, text=text, source=f"{title}.md")
    for title, text in FACTS.items()
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("facts")
    for title, text in FACTS.items():
        (folder / f"{title}.md").write_text(f"# {title}\n\n{text}\n")
    chroma = ChromaSettings(path=tmp_path_factory.mktemp("store"))
    index = Index.open(chroma, RetrieverSettings(), WordEmbeddings(dimension=2048))
    index.update([folder])
    yield index
    index.close()


class Documents(BaseRetriever):
    """Gives the same documents for every query, or raises."""

    found: Any
    error: Any = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> Any:
        if self.error is not None:
            raise self.error
        return self.found


@pytest.mark.parametrize("kind", ["fused", "dense", "bm25"])
async def test_the_right_passage_comes_first(index: Index, kind: Kind) -> None:
    for retriever in (
        index.retriever(kind),
        HybridRetriever(from_passages(PASSAGES, WordEmbeddings(dimension=2048)).pool, kind),
    ):
        for title, text in FACTS.items():
            assert [p.title for p in await retriever.retrieve(title, 1)] == [title]
            assert [p.title for p in await retriever.retrieve(text[:40], 1)] == [title]
        found = await retriever.retrieve_many(list(FACTS), 1)
        assert found == [await retriever.retrieve(title, 1) for title in FACTS]


async def test_k_and_empty_queries(index: Index) -> None:
    retriever = index.retriever()
    assert len(await retriever.retrieve("the", 3)) == 3
    assert len(await retriever.retrieve("the bread", 99)) == 5
    assert await retriever.retrieve(" \n", 3) == []
    assert await retriever.retrieve_many([], 3) == []
    first, empty, again = await retriever.retrieve_many(["sheep", "", "sheep"], 1)
    assert (first, empty) == (again, [])
    with pytest.raises(InputError, match="0 passages"):
        await retriever.retrieve("sheep", 0)


@pytest.mark.parametrize("kind", ["fused", "dense", "bm25"])
async def test_copies_of_a_passage_are_found_once(kind: Kind) -> None:
    long = "High water comes to the harbour at noon. " * 4
    texts = {
        "Guide – Tides": long,
        "Guide, 2nd edition – Tides": long.replace(" ", "  "),
        "Guide – Ferry": long,
        "Guide – Storms": "There is no water.",
        "Old guide – Storms": "There is no water.",
    }
    passages = [Passage(id=title, title=title, text=text) for title, text in texts.items()]
    pool = from_passages(passages, WordEmbeddings(dimension=2048)).pool
    found = await HybridRetriever(pool, kind).retrieve("Tides, ferry, water, storms", 4)
    named = sorted(passage.title.rpartition(" – ")[2] for passage in found)
    assert named == ["Ferry", "Storms", "Storms", "Tides"]


async def test_among_no_passages_nothing_is_found() -> None:
    assert await from_passages([]).retrieve("anything", 5) == []
    assert await from_passages([], WordEmbeddings()).retrieve("anything", 5) == []


@pytest.mark.parametrize("query", ["xylophone", "the of and", "?!"])
async def test_words_that_are_nowhere_find_nothing(query: str) -> None:
    assert await from_passages(PASSAGES).retrieve(query, 5) == []


@pytest.mark.parametrize("query", ["beyonce", "sings", "首都", "किताब"])
async def test_accents_case_and_endings_do_not_matter_and_vowel_marks_do(query: str) -> None:
    texts = ["Beyoncé was SINGING.", "日本の首都", "Something else.", "वह कलम है", "वह किताब है"]
    assert len(await from_texts(texts).retrieve(query, 5)) == 1


async def test_searches_run_at_the_same_time(index: Index) -> None:
    retriever = index.retriever()
    found = await asyncio.gather(*(retriever.retrieve(title, 1) for title in FACTS for _ in "123"))
    assert [passages[0].title for passages in found] == [title for title in FACTS for _ in "123"]


def test_fuse() -> None:
    a, b, c = Candidate("a", 0.9, 0.0), Candidate("b", 0.5, 12.0), Candidate("c", 0.1, 3.0)
    assert fuse([a, b, c], 0.6) == ["b", "a", "c"]
    assert fuse([a, b, c], 1.0) == ["a", "b", "c"]
    assert fuse([a, b, c], 0.0) == ["b", "c", "a"]
    assert fuse([a]) == ["a"]
    assert fuse([]) == []


async def test_passages_with_one_id_are_one() -> None:
    twin = PASSAGES[0].model_copy(update={"text": "Another text about tides."})
    assert await from_passages([PASSAGES[0], twin]).retrieve("tides", 5) == [PASSAGES[0]]


async def test_long_texts_are_cut() -> None:
    text = " ".join(f"Sentence {n} is of no interest." for n in range(100)) + " The end is blue."
    (passage, *_) = await from_texts([text], passage_words=40).retrieve("blue", 3)
    assert passage.text.endswith("The end is blue.")
    assert text[passage.start : passage.end] == passage.text
    assert passage.source == "document 1"


async def test_a_failing_embedder_is_a_retrieval_error() -> None:
    class Broken(WordEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            raise OSError("no such device")

    with pytest.raises(RetrievalError, match="no such device"):
        await from_passages(PASSAGES, Broken()).retrieve("sheep", 1)


async def test_langchain_documents_become_passages() -> None:
    documents = [
        Document("One.", id="d1", metadata={"title": "T", "source": "s.md", "page": 3}),
        Document("One again.", id="d1"),
        Document("Two.", metadata={"url": "http://x.y", "start_index": 7}),
        Document("Three.", metadata={"source": "r.pdf", "page": 0, "total_pages": 9}),
        Document("  "),
        Document("Four.", id="d4", metadata={"page": 3.0, "start": 12.0}),
        Document("Five.", id="d5", metadata={"page": "iv", "start_index": -1}),
        Document("Six."),
    ]
    retriever = coerce_retriever(Documents(found=documents))
    two, three = Passage.make_id("http://x.y", "Two.", 7), Passage.make_id("r.pdf", "Three.")
    assert await retriever.retrieve("q", 5) == [
        Passage(id="d1", text="One.", title="T", source="s.md", page=3, end=4),
        Passage(id=two, text="Two.", source="http://x.y", start=7, end=11),
        Passage(id=three, text="Three.", source="r.pdf", page=1, end=6),
        Passage(id="d4", text="Four.", page=3, start=12, end=17),
        Passage(id="d5", text="Five.", end=5),
    ]
    assert await retriever.retrieve("", 3) == []


async def test_a_failing_langchain_retriever_is_named() -> None:
    refused = coerce_retriever(Documents(found=[], error=ConnectionError("refused")))
    with pytest.raises(RetrievalError, match="Documents failed: ConnectionError: refused") as error:
        await refused.retrieve("q", 1)
    assert isinstance(error.value.__cause__, ConnectionError)
    with pytest.raises(RetrievalError, match="gave a str"):
        await coerce_retriever(Documents(found=["text"])).retrieve("q", 1)


async def test_a_vector_store_is_asked_for_k() -> None:
    store = InMemoryVectorStore(WordEmbeddings(dimension=2048))
    store.add_texts([f"text {n}" for n in range(9)])
    assert len(await coerce_retriever(store).retrieve("text", 7)) == 7


async def test_to_langchain_and_back() -> None:
    paged = PASSAGES[1].model_copy(update={"page": 4, "end": len(PASSAGES[1].text)})
    langchain = as_langchain(from_passages([paged]), k=2)
    (document,) = await langchain.ainvoke("sheep")
    assert (document.page_content, document.metadata["page"]) == (paged.text, 4)
    assert await coerce_retriever(langchain).retrieve("sheep", 1) == [paged]
    box = Box(start=0, end=5, left=0.1, top=0.1, right=0.5, bottom=0.2)
    placed = paged.model_copy(update={"page": None, "location": "slide 4", "boxes": (box,)})
    langchain = as_langchain(from_passages([placed]))
    assert await coerce_retriever(langchain).retrieve("sheep", 1) == [placed]
    foreign = Document("Forty sheep.", metadata={"boxes": "four"})
    assert to_passage(foreign).boxes == ()
    assert [d.id for d in langchain.invoke("sheep")] == ["sheep"]


class Own:
    async def retrieve(self, query: str, k: int) -> list[Passage]:
        return PASSAGES[:k]


class Blocking:
    def retrieve(self, query: str, k: int) -> list[Passage]:
        return PASSAGES[:k]


async def search(query: str) -> list[Passage]:
    return [PASSAGES[0], *PASSAGES]


@pytest.mark.parametrize(
    "source",
    [Own(), Documents(found=[]), PASSAGES, [p.text for p in PASSAGES], from_passages(PASSAGES), []],
)
async def test_what_can_be_a_retriever(source: object) -> None:
    retriever = coerce_retriever(source)
    assert isinstance(retriever, Retriever)
    found = await retrieve_many(retriever, ["sheep", "tides"], 2)
    assert len(found) == 2


OWN = {
    "blocking object": Blocking(),
    "function": lambda _: [to_document(one) for one in PASSAGES],
    "async function": search,
    "partial function": partial(Own().retrieve, k=3),
    "chain": RunnableLambda(str.upper) | RunnableLambda(search),
}


@pytest.mark.parametrize("source", OWN.values(), ids=OWN)
async def test_a_function_and_a_chain_can_be_a_retriever(source: Any) -> None:
    found = await retrieve_many(coerce_retriever(source), ["sheep", ""], 2)
    assert [[passage.id for passage in one] for one in found] == [["tides", "sheep"], []]


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_function_searches_what_the_run_names(how: str) -> None:
    """A tenant, a user, a day: what the vector store shall filter by."""

    def search(query: str, config: RunnableConfig) -> list[Document]:
        return [Document(f"{config['configurable']['tenant']} keeps sheep.")]

    graph = build_verbatim(Toolbox(None, retriever=search, entailment=lambda *_: 1.0))
    for tenant in ("Ann", "Bo"):
        config = {"configurable": {"tenant": tenant}}
        told = run(graph, how, {"question": "Who keeps sheep?"}, config)["answer"]
        assert told.text == f"{tenant} keeps sheep [1]."


class Odd:
    def __init__(self, retrieve: Any) -> None:
        self.retrieve = retrieve


async def fail(*_: Any) -> Any:
    raise OSError("the disk is gone")


@pytest.mark.parametrize(
    ("retrieve", "error", "told"),
    [
        (fail, RetrievalError, "The retriever Odd failed: OSError: the disk is gone"),
        (lambda: PASSAGES, RetrievalError, "Odd failed: TypeError: .* arguments"),
        (AsyncMock(return_value=None), RetrievalError, "Odd cannot be used: it gave a NoneType"),
        (lambda *_: "Sheep.", RetrievalError, "Odd cannot be used: it gave a str"),
        (AsyncMock(return_value=[{"text": "Sheep."}]), RetrievalError, "gave a dict .* Return a"),
    ],
)
async def test_a_foreign_retriever_that_fails_is_named(
    retrieve: Any, error: type[CiteproofError], told: str
) -> None:
    with pytest.raises(error, match=told):
        await retrieve_many(coerce_retriever(Odd(retrieve)), ["sheep"], 2)


async def test_a_foreign_retriever_may_find_langchain_documents() -> None:
    source = Odd(AsyncMock(return_value=[to_document(one) for one in PASSAGES[:2]]))
    [found] = await retrieve_many(coerce_retriever(source), ["sheep"], 2)
    assert [passage.text for passage in found] == [one.text for one in PASSAGES[:2]]


def test_an_index_can_be_a_retriever(index: Index) -> None:
    assert isinstance(coerce_retriever(index), HybridRetriever)


async def test_langchain_documents_can_be_searched() -> None:
    sheep, tides = (Document(page_content=p.text, id=p.id) for p in PASSAGES[:2])
    retriever = coerce_retriever([sheep, tides])
    assert [p.id for p in await retriever.retrieve(tides.page_content, 1)] == [PASSAGES[1].id]


@pytest.mark.parametrize(
    "source",
    ["text", 5, [1, 2], None, Path(), ["text", PASSAGES[0]], Own, build_verbatim(Toolbox(None))],
)
def test_what_cannot(source: object) -> None:
    with pytest.raises(InputError, match="cannot be used as a retriever"):
        coerce_retriever(source)


async def test_passages_that_were_deleted_meanwhile_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = ListPool([Passage(id="here", text="x")], None)
    found = [[Candidate("gone", 0.9, 9.0), Candidate("here", 0.8, 8.0)]]
    monkeypatch.setattr(pool, "candidates", lambda *_: found)
    assert [p.id for p in await HybridRetriever(pool).retrieve("q", 2)] == ["here"]


async def test_pieces_of_one_document_are_told_apart() -> None:
    pieces = [Document(text, metadata={"id": "article-7"}) for text in ("One.", "Two.")]
    found = await coerce_retriever(Documents(found=pieces)).retrieve("q", 2)
    assert [passage.text for passage in found] == ["One.", "Two."]
    assert len({passage.id for passage in found}) == 2
