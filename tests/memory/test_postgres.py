"""An index in PostgreSQL, on a real server that pgserver brings."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from citeproof.errors import InputError, ModelError, RetrievalError, StoreError
from citeproof.memory.index import Index, Step
from citeproof.memory.postgres import PostgresPassages
from citeproof.memory.searched import open_searched
from citeproof.settings import RetrieverSettings, Settings
from citeproof.types import Passage
from tests.memory.fakes import WordEmbeddings
from tests.postgres import Server

PASSAGES = [
    Passage(id=f"p{n}", text=f"Sheep {n} lives on hill {n}.", title="Farm", page=n + 1)
    for n in range(7)
]


def opened(
    server: Server,
    collection: str,
    kind: str = "fused",
    embeddings: WordEmbeddings | None = None,
) -> Index:
    settings = RetrieverSettings.model_validate({"kind": kind})
    model = embeddings or WordEmbeddings()
    return Index(PostgresPassages(server.url, model, collection), settings, model)


async def retrieve(index: Index, query: str, k: int) -> list[Passage]:
    return await index.retriever().retrieve(query, k)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    (tmp_path / "tides.md").write_text("# Tides\n\nHigh water is at noon.\n")
    (tmp_path / "sheep.txt").write_text("Forty sheep live on the hill.")
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "query", "first"),
    [
        ("bm25", "hill 4", "p4"),
        ("dense", "Sheep 5 lives on hill 5.", "p5"),
        ("fused", "Sheep 6 lives on hill 6.", "p6"),
    ],
)
async def test_both_searches_find_passages_with_ready_vectors(
    server: Server, collection: str, kind: str, query: str, first: str
) -> None:
    index = opened(server, collection, kind)
    vectors = WordEmbeddings().embed_documents([one.text for one in PASSAGES])
    index.add(PASSAGES, np.asarray(vectors, "f2"))
    found = await retrieve(index, query, 3)
    assert found[0] == PASSAGES[int(first[1])]
    assert len(found) == 3
    index.add(PASSAGES[:2], vectors[:2])
    assert index.count() == 2
    with pytest.raises(InputError, match="32 numbers, and those of words have 64"):
        index.add(PASSAGES, np.ones((7, 32), "f4"))
    index.close()


async def test_another_model_or_no_index_is_told(server: Server, collection: str) -> None:
    index = opened(server, collection)
    with pytest.raises(RetrievalError, match="There is no index"):
        await retrieve(index, "hill", 1)
    index.add(PASSAGES)
    index.close()
    told = "from words, and the settings say others"
    other = opened(server, collection, embeddings=WordEmbeddings("others"))
    with pytest.raises(StoreError, match=told):
        other.add(PASSAGES)
    with pytest.raises(RetrievalError, match=told):
        await retrieve(other, "hill", 1)
    other.close()
    by_words = opened(server, collection, "bm25", embeddings=WordEmbeddings("others"))
    assert await retrieve(by_words, "hill 4", 1) == [PASSAGES[4]]
    by_words.close()


async def test_passages_are_read_by_id_and_by_document(
    server: Server, collection: str, documents: Path
) -> None:
    index = opened(server, collection)
    assert (index.get(["p1"]), index.document("p"), index.documents()) == ([], [], [])
    assert index.count() == 0
    index.update([documents])
    index.add([one.model_copy(update={"source": "a list"}) for one in PASSAGES])
    assert [one.id for one in index.get(["p3", "none", "p1"])] == ["p3", "p1"]
    [sheep] = index.document(str(documents / "sheep.txt"))
    assert sheep.text == "Forty sheep live on the hill."
    assert len(index.document("a list")) == 7
    index.close()


def test_an_index_that_was_closed_says_so(server: Server, collection: str) -> None:
    index = opened(server, collection)
    index.add(PASSAGES)
    index.close()
    with pytest.raises(StoreError, match=r"The index in .* was closed: .*nothing is damaged\.$"):
        index.count()
    index.close()


async def test_settings_open_it(server: Server, collection: str) -> None:
    settings = Settings.load(
        **{"retriever": server.url, "chroma.collection": collection, "retriever.kind": "dense"}
    )
    index = open_searched(settings, WordEmbeddings())
    assert isinstance(index, Index)
    index.add(PASSAGES)
    assert (await index.retriever().retrieve("Sheep 5 lives on hill 5.", 1))[0].id == "p5"
    index.close()


async def test_a_document_is_as_it_was_until_it_is_whole(
    server: Server, collection: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citeproof.memory.ingest._FIRST", 2)
    monkeypatch.setattr("citeproof.memory.ingest._BATCH", 2)
    file = tmp_path / "sheep.jsonl"
    file.write_text("\n".join(f'{{"id": "{n}", "text": "Sheep {n}."}}' for n in range(6)))
    embeddings = WordEmbeddings()
    index = opened(server, collection, embeddings=embeddings)
    index.update([file])
    before = sorted(passage.text for passage in index.passages())
    file.write_text("\n".join(f'{{"id": "{n}", "text": "Goat {n}."}}' for n in range(6)))
    embeddings.fail_at = len(embeddings.embedded) + 4
    with pytest.raises(ModelError, match="out of memory"):
        index.update([file])
    assert sorted(passage.text for passage in index.passages()) == before
    embeddings.fail_at = None
    assert index.update([file]).updated == (str(file),)
    assert sorted(passage.text for passage in index.passages()) == [f"Goat {n}." for n in range(6)]
    index.close()


def test_two_updates_take_turns(
    server: Server, collection: str, documents: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = opened(server, collection), opened(server, collection)
    more = Passage(id="new", text="Goats.")
    adding = threading.Thread(target=lambda: other.add([more], name="more"))

    def begin(step: Step) -> None:
        if adding.ident is None:
            adding.start()
            while "Waiting: another process" not in caplog.text:
                time.sleep(0.05)
            assert other.get(["new"]) == []

    with caplog.at_level(logging.WARNING, "citeproof"):
        one.update([documents / "sheep.txt"], progress=begin)
    adding.join()
    assert other.get(["new"]) == [more]
    assert one.count() == 2
    for index in (one, other):
        index.close()
