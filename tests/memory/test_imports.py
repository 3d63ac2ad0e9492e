"""Passages that come with their vectors."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from citeproof.errors import InputError, SettingsError
from citeproof.memory import ingest
from citeproof.memory.index import Index, Step
from citeproof.tools.documents import imports
from citeproof.tools.documents.imports import open_import
from citeproof.tools.retrieval import Kind
from citeproof.types import Passage
from tests.memory.conftest import Opener
from tests.memory.fakes import WordEmbeddings, search

KINDS: tuple[Kind, ...] = ("dense", "bm25", "fused")
PASSAGES = [
    Passage(id=f"p{n}", text=f"Sheep {n} lives on hill {n}.", title="Farm", page=n + 1)
    for n in range(7)
]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "ROWS", 3)
    monkeypatch.setattr(ingest, "_BATCH", 3)


def vectors(passages: list[Passage]) -> np.ndarray:
    return np.asarray(WordEmbeddings().embed_documents([one.text for one in passages]), "f2")


def test_passages_with_vectors_are_stored_as_they_are(
    index: Index, embeddings: WordEmbeddings
) -> None:
    assert index.add(PASSAGES, vectors(PASSAGES)) == [f"p{n}" for n in range(7)]
    assert embeddings.embedded == []
    assert [passage.id for passage in index.get(["p3", "none", "p1"])] == ["p3", "p1"]
    assert index.get(["p4"]) == [PASSAGES[4]]
    for kind in KINDS:
        assert search(index, PASSAGES[5].text, 1, kind) == [PASSAGES[5].text]
    [held] = index.documents()
    assert (held.document, held.passages, held.whole) == ("passages", 7, True)
    assert index.remove(["passages"])
    assert index.count() == 0


def test_an_import_replaces_the_one_of_its_name(index: Index) -> None:
    index.add(PASSAGES, vectors(PASSAGES))
    # One fewer in front: each of the others moves to another place, some to another piece.
    kept = [*PASSAGES[1:5], Passage(id="p5", text="Goats.")]
    index.add(kept, vectors(kept))
    assert {one.id: one.text for one in index.passages()} == {one.id: one.text for one in kept}
    assert search(index, "goats", 3, "bm25") == ["Goats."]
    assert search(index, "sheep 6", 9, "bm25") == search(index, "sheep", 9, "bm25")
    turned = vectors(kept)[::-1].copy()
    index.add(kept, turned)  # the same texts with other vectors
    assert search(index, "Goats.", 1) == [PASSAGES[1].text]


def test_equal_texts_keep_their_own_vectors(index: Index) -> None:
    twins = [Passage(id=key, text="Sheep.") for key in "ab"]
    index.add(twins, vectors(twins) * np.asarray([[1], [-1]], "f2"))
    [found] = index.candidates(["Sheep."], 2, "dense")
    assert [one.cosine for one in found] == pytest.approx([1, -1], abs=0.01)


def test_an_interrupted_import_goes_on_at_its_piece(opened: Opener) -> None:
    index = opened()

    def stop(step: Step) -> None:
        if step.document.endswith("000001") and step.state == "done":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.add(PASSAGES, vectors(PASSAGES), progress=stop)
    index.close()
    index = opened()
    seen: list[Step] = []
    index.add(PASSAGES, vectors(PASSAGES), progress=seen.append)
    assert [step.stored for step in seen if step.state == "done"] == [0, 0, 1]
    assert index.count() == 7


@pytest.mark.parametrize(
    ("passages", "rows", "why"),
    [
        (PASSAGES, np.ones((6, 64), "f4"), "6 vectors for 7 passages"),
        (PASSAGES, np.ones((7, 32), "f4"), "32 numbers, and those of words have 64"),
        (PASSAGES, np.ones((7, 64), "i4"), "int32"),
        (PASSAGES, np.full((7, 64), np.nan, "f4"), "Vector 1 of passages"),
        ([PASSAGES[0]] * 2, np.ones((2, 64), "f4"), "same id"),
        (["a text"], np.ones((1, 64), "f4"), "Only passages"),
    ],
)
def test_what_does_not_fit_is_refused(
    index: Index, passages: list[Passage], rows: np.ndarray, why: str
) -> None:
    with pytest.raises(InputError, match=why):
        index.add(passages, rows)
    assert index.count() == 0


def test_an_index_of_words_takes_no_vectors(opened: Opener) -> None:
    with pytest.raises(SettingsError, match="without an embedding model"):
        opened(None, kind="bm25").add(PASSAGES, vectors(PASSAGES))


def _write(tmp_path: Path, kind: str) -> tuple[Path, str]:
    rows = [{"id": one.id, "text": one.text, "title": "Farm"} for one in PASSAGES]
    if kind == "jsonl":
        path = tmp_path / "farm.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
        np.save(tmp_path / "farm.npy", vectors(PASSAGES))
        return path, str(tmp_path / "farm.npy")
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "farm.parquet"
    table = arrow.Table.from_pylist(
        [{**r, "v": v.astype("f4")} for r, v in zip(rows, vectors(PASSAGES), strict=True)]
    )
    # With a dictionary, Arrow's batches end where the file's row groups do.
    titles = table.column("title").dictionary_encode()
    table = table.set_column(table.column_names.index("title"), "title", titles)
    parquet.write_table(table, path, row_group_size=2)
    return path, "v"


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_files_are_imported(tmp_path: Path, kind: str, opened: Opener) -> None:
    index = opened()
    path, given = _write(tmp_path, kind)
    report = index.add_import(open_import(path, given))
    assert (report.passages, len(report.added)) == (7, 3)
    assert search(index, "Sheep 5 lives on hill 5.", 1) == [PASSAGES[5].text]
    [passage] = index.get(["p5"])
    assert (passage.title, passage.source) == ("Farm", str(path))


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path, given = _write(tmp_path, "jsonl")
    with pytest.raises(InputError, match="cannot be read"):
        open_import(path, str(path))
    np.save(given, np.ones((6, 64), "f2"))
    with pytest.raises(InputError, match="6 vectors for 7 lines"):
        open_import(path, given)
    table, _ = _write(tmp_path, "parquet")
    with pytest.raises(InputError, match="no column 'w'"):
        open_import(table, "w")


def test_inner_products_rank_as_they_are(opened: Opener, embeddings: WordEmbeddings) -> None:
    embeddings.similarity = "inner_product"  # type: ignore[attr-defined]
    index = opened()
    rows = vectors(PASSAGES)
    rows[3] *= 9  # longer, so that it is nearest of all to each question
    index.add(PASSAGES, rows)
    assert search(index, "Sheep 5 lives on hill 5.", 1) == [PASSAGES[3].text]
    [found] = index.candidates(["hill 5"], 7)
    assert max(found, key=lambda one: one.cosine).id == "p3"


def test_a_large_import_leaves_nothing_to_be_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: Opener
) -> None:
    monkeypatch.setattr("citeproof.memory.folder_store._FILLING_SYNC", 5)
    monkeypatch.setattr("citeproof.memory.folder_store.SYNC", 2)
    index = opened()
    index.add(PASSAGES, vectors(PASSAGES))
    index.close()
    tables = sqlite3.connect(tmp_path / "store" / "index" / "chroma.sqlite3")
    [(waiting,)] = tables.execute(
        "SELECT count(*) FROM embeddings_queue queue, collections, segments "
        "JOIN max_seq_id ON max_seq_id.segment_id = segments.id "
        "WHERE segments.scope = 'VECTOR' AND segments.collection = collections.id "
        "AND collections.name = 'passages' AND queue.topic LIKE '%/' || collections.id "
        "AND queue.seq_id > max_seq_id.seq_id"
    )
    tables.close()
    assert waiting == 0
    index = opened()
    assert search(index, "Sheep 5 lives on hill 5.", 1) == [PASSAGES[5].text]
    index.add(PASSAGES[:2], vectors(PASSAGES[:2]), name="passages")
    assert index.count() == 2
