"""An index in PostgreSQL, on a real server that pgserver brings."""

from __future__ import annotations

import json
import logging
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from citeproof.errors import ModelError, RetrievalError, StoreError
from citeproof.memory.index import Step
from citeproof.memory.searched import open_index, open_searched
from citeproof.settings import Settings
from citeproof.types import Passage
from tests.memory.conftest import Opener
from tests.memory.fakes import WordEmbeddings
from tests.memory.test_imports import PASSAGES
from tests.memory.test_index import texts
from tests.postgres import Server


async def test_another_model_or_no_index_is_told(opened_postgres: Opener) -> None:
    index = opened_postgres()
    with pytest.raises(RetrievalError, match="There is no index"):
        await index.retriever().retrieve("hill", 1)
    index.add(PASSAGES)
    others, told = WordEmbeddings("others"), "from words, and the settings say others"
    other = opened_postgres(others)
    with pytest.raises(StoreError, match=told):
        other.add(PASSAGES)
    with pytest.raises(RetrievalError, match=told):
        await other.retriever().retrieve("hill", 1)
    by_words = opened_postgres(others, kind="bm25")
    assert await by_words.retriever().retrieve("hill 4", 1) == [PASSAGES[4]]


async def test_settings_open_it(server: Server, collection: str) -> None:
    settings = Settings.load(
        **{"retriever": server.url, "chroma.collection": collection, "retriever.kind": "dense"}
    )
    with closing(open_index(settings, WordEmbeddings())) as index:
        index.add(PASSAGES)
    with closing(open_searched(settings, WordEmbeddings())) as found:
        assert await found.retriever().retrieve("Sheep 5 lives on hill 5.", 1) == [PASSAGES[5]]


def test_a_document_is_as_it_was_until_it_is_whole(
    opened_postgres: Opener,
    embeddings: WordEmbeddings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("citeproof.memory.ingest._FIRST", 2)
    monkeypatch.setattr("citeproof.memory.ingest._BATCH", 2)
    file, index = tmp_path / "sheep.jsonl", opened_postgres()

    def write(kind: str) -> set[str]:
        rows = [{"id": str(n), "text": f"{kind} {n}."} for n in range(6)]
        file.write_text("\n".join(map(json.dumps, rows)))
        return {row["text"] for row in rows}

    before = write("Sheep")
    index.update([file])
    after = write("Goat")
    embeddings.fail_at = len(embeddings.embedded) + 4
    with pytest.raises(ModelError, match="out of memory"):
        index.update([file])
    assert texts(index) == before
    embeddings.fail_at = None
    assert index.update([file]).updated == (str(file),)
    assert texts(index) == after


def test_two_updates_take_turns(
    opened_postgres: Opener, documents: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = opened_postgres(), opened_postgres()
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
