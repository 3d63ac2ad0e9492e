from __future__ import annotations

import gc
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from citeproof.errors import MissingExtraError, ModelError, SettingsError, StoreError
from citeproof.memory import ingest
from citeproof.memory.index import Index, IndexReport, Step
from citeproof.settings import ChromaSettings, RetrieverSettings, Settings
from citeproof.tools.retrieval.remote_embeddings import open_embedder
from tests.memory.fakes import WordEmbeddings, search

FUSED = RetrieverSettings()
FILES = Path("/proc/self/fd")
"""The open files of this process."""
LONG = " ".join(f"Line {n} of the long story is about sheep." for n in range(60))


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "tides.md").write_text("# Tides\n\nHigh water is at noon.\n")
    (folder / "sheep.txt").write_text("Forty sheep live on the hill.")
    (folder / "picture.png").write_bytes(b"x")
    return folder


def opened(tmp_path: Path, embeddings: WordEmbeddings | None = None, **options: Any) -> Index:
    settings = ChromaSettings(path=tmp_path / "store")
    return Index.open(settings, FUSED, embeddings or WordEmbeddings(), **options)


def whole(index: Index) -> list[tuple[str, int]]:
    """The documents that are indexed, and how many passages each has."""
    counts = Counter(passage.source for passage in index.passages())
    return [(one.document, counts[one.document]) for one in index.documents() if one.whole]


def texts(index: Index) -> set[str]:
    return {passage.text for passage in index.passages()}


def test_update_indexes_and_reports(tmp_path: Path, documents: Path) -> None:
    index = opened(tmp_path)
    seen: list[Step] = []
    report = index.update([documents], progress=seen.append)
    sheep, tides = (str(documents / name) for name in ("sheep.txt", "tides.md"))
    assert report == IndexReport(
        added=(sheep, tides), skipped=(str(documents / "picture.png"),), passages=2
    )
    assert seen == [
        Step(sheep, "reading"),
        Step(tides, "reading"),
        Step(sheep, "done", 1, 1),
        Step(tides, "done", 1, 1),
    ]
    assert whole(index) == [(sheep, 1), (tides, 1)]
    assert {passage.title for passage in index.passages()} == {"sheep", "Tides"}
    (passage,) = (p for p in index.passages() if p.source == tides)
    assert index.get(["unknown", passage.id]) == [passage]
    assert (passage.title, passage.text, passage.page) == ("Tides", "High water is at noon.", None)
    index.close()


def test_only_what_changed_is_embedded_again(tmp_path: Path, documents: Path) -> None:
    embeddings = WordEmbeddings()
    index = opened(tmp_path, embeddings)
    index.update([documents])
    index.close()
    embeddings.embedded.clear()
    index = opened(tmp_path, embeddings)
    assert len(index.update([documents]).unchanged) == 2
    assert embeddings.embedded == []
    (documents / "sheep.txt").write_text("Fifty sheep live on the hill.")
    (documents / "new.txt").write_text("A new thing.")
    report = index.update([documents])
    assert [Path(name).name for name in report.updated + report.added] == ["sheep.txt", "new.txt"]
    assert embeddings.embedded == ["new\nA new thing.", "sheep\nFifty sheep live on the hill."]
    assert texts(index) == {
        "High water is at noon.",
        "Fifty sheep live on the hill.",
        "A new thing.",
    }
    index.close()


def test_a_missing_folder_is_an_error_and_nothing_is_dropped(
    tmp_path: Path, documents: Path
) -> None:
    index = opened(tmp_path)
    index.update([documents])
    documents.rename(tmp_path / "unmounted")
    report = index.update([documents])
    assert report.removed == ()
    assert "does not exist" in report.errors[0][1]
    assert index.count() == 2
    index.close()


def test_bad_documents_are_listed_and_the_others_indexed(tmp_path: Path, documents: Path) -> None:
    index = opened(tmp_path)
    index.update([documents])
    (documents / "bad.pdf").write_bytes(b"no pdf")
    (documents / "sheep.txt").write_text("")
    (documents / "rows.jsonl").write_text('{"text": ""}\n{"text": "One row."}\n')
    report = index.update([documents])
    assert [Path(name).name for name, _ in report.errors] == ["bad.pdf", "sheep.txt"]
    assert [Path(name).name for name, _ in report.problems] == ["rows.jsonl"]
    # It says something else now, namely nothing; what it said before is no evidence any more.
    assert report.removed == (str(documents / "sheep.txt"),)
    assert texts(index) == {"High water is at noon.", "One row."}
    index.close()


def test_a_file_that_cannot_be_opened_keeps_its_passages(
    tmp_path: Path, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = opened(tmp_path)
    index.update([documents])
    read_bytes = Path.read_bytes

    def denied(path: Path) -> bytes:
        if path.name == "sheep.txt":
            raise PermissionError(13, "Permission denied")
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", denied)
    report = index.update([documents])
    assert (len(report.errors), report.removed, index.count()) == (1, (), 2)
    index.close()


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), KeyboardInterrupt()])
def test_an_interrupted_update_is_finished_by_the_next(
    tmp_path: Path, documents: Path, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_BATCH", 4)
    (documents / "long.txt").write_text(LONG * 5)
    embeddings = WordEmbeddings()
    embeddings.fail_at, embeddings.error = 7, error
    index = opened(tmp_path, embeddings)
    with pytest.raises((ModelError, KeyboardInterrupt)):
        index.update([documents])
    assert whole(index) == []
    assert index.count() == 4
    index.close()
    embeddings.fail_at = None
    embeddings.embedded.clear()
    index = opened(tmp_path, embeddings)
    report = index.update([documents])
    assert len(report.added + report.updated) == 3
    # The four that were stored are not embedded again.
    assert len(embeddings.embedded) == report.passages - 4
    assert len(index.update([documents]).unchanged) == 3
    assert sum(count for _, count in whole(index)) == index.count()
    index.close()


def test_ids_of_jsonl_belong_to_one_file(tmp_path: Path, documents: Path) -> None:
    def write(name: str, *keys: str) -> None:
        rows = [json.dumps({"id": key, "text": f"The text of {key}."}) for key in keys]
        (documents / name).write_text("\n".join(rows))

    index = opened(tmp_path)
    write("one.jsonl", "a", "b")
    write("two.jsonl", "b", "c")
    report = index.update([documents])
    assert [Path(name).name for name, _ in report.errors] == ["two.jsonl"]
    assert "'b' is already that of a passage of" in report.errors[0][1]
    assert len(index.get(["a", "b", "c"])) == 2
    write("one.jsonl", "a")
    write("two.jsonl", "b", "c")
    assert index.update([documents]).errors == ()
    # Also where the file that takes an id over is read before the one that gives it up.
    write("one.jsonl", "a", "c")
    write("two.jsonl", "b")
    assert index.update([documents]).errors == ()
    assert [Path(p.source).name for p in index.get(["a", "b", "c"])] == [
        "one.jsonl",
        "two.jsonl",
        "one.jsonl",
    ]
    # Also where the file that had it is gone.
    (documents / "two.jsonl").unlink()
    write("one.jsonl", "a", "b")
    report = index.update([documents])
    assert (report.errors, len(report.removed), report.passages) == ((), 1, 4)
    assert len(search(index, "text of b", 9, "bm25")) == 2
    index.close()


@pytest.mark.parametrize("batch", [1, 500])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["a", "b"], ["b", "a"]),
        (["ab", "cd", "ef"], ["bc", "de", "f"]),  # the first row of all was deleted
        (["a", "bc", "d"], ["c", "bd", "a"]),
    ],
)
def test_files_of_jsonl_hand_ids_to_each_other(
    tmp_path: Path,
    documents: Path,
    before: list[str],
    after: list[str],
    batch: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ingest, "_BATCH", batch)
    index = opened(tmp_path)
    for keys in (before, after):
        for number, own in enumerate(keys):
            rows = [json.dumps({"id": key, "text": f"Row {key} of {number}."}) for key in own]
            (documents / f"{number}.jsonl").write_text("\n".join(rows))
        assert index.update([documents]).errors == ()
    held = {f"Row {key} of {number}." for number, own in enumerate(after) for key in own}
    assert {text for text in texts(index) if text.startswith("Row")} == held
    assert set(search(index, "row", 9, "bm25")) == held
    assert len(index.update([documents]).unchanged) == 2 + len(after)
    index.close()


@pytest.mark.parametrize("has_model", [True, False])
def test_by_words_no_model_is_asked_for_anything(
    tmp_path: Path, documents: Path, has_model: bool
) -> None:
    settings, words = ChromaSettings(path=tmp_path / "store"), RetrieverSettings(kind="bm25")
    embeddings = WordEmbeddings()
    embeddings.fail_at = 0
    index = Index.open(settings, words, embeddings if has_model else None)
    assert index.update([documents]).errors == ()
    assert len(search(index, "noon", 3, "bm25")) == 1
    with pytest.raises(SettingsError, match="without an embedding model"):
        search(index, "noon", 3)
    index.close()
    with pytest.raises(SettingsError, match="needs an embedding model"):
        Index.open(settings, FUSED)
    with pytest.raises(StoreError, match=r"from no model, .*citeproof index --rebuild"):
        Index.open(settings, FUSED, embeddings)


def test_by_words_an_index_of_vectors_keeps_its_vectors(tmp_path: Path, documents: Path) -> None:
    index = opened(tmp_path)
    index.update([documents])
    index.close()
    words = RetrieverSettings(kind="bm25")
    index = Index.open(ChromaSettings(path=tmp_path / "store"), words, WordEmbeddings())
    (documents / "new.txt").write_text("Rams stand on the pier.")
    index.update([documents])
    index.close()
    index = opened(tmp_path)
    assert search(index, "rams on the pier", 1) == ["Rams stand on the pier."]
    index.close()


@pytest.mark.parametrize(("installed", "kind"), [(True, "bm25"), (False, "bm25"), (False, "fused")])
def test_the_embedder_is_not_needed_for_words(
    installed: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not installed:
        monkeypatch.setattr("citeproof.models.embedder.find_spec", lambda _: None)
    settings = Settings.load(**{"retriever.kind": kind})
    if not installed and kind == "fused":
        with pytest.raises(MissingExtraError, match="sentence-transformers"):
            open_embedder(settings)
        return
    assert (open_embedder(settings) is not None) == installed


def test_an_index_of_vectors_can_be_searched_by_words_but_not_changed_without_its_model(
    tmp_path: Path, documents: Path
) -> None:
    index = opened(tmp_path)
    index.update([documents])
    index.close()
    index = Index.open(ChromaSettings(path=tmp_path / "store"), RetrieverSettings(kind="bm25"))
    assert len(search(index, "noon", 3, "bm25")) == 1
    assert len(index.update([documents]).unchanged) == 2
    (documents / "new.txt").write_text("New.")
    with pytest.raises(StoreError, match="without its embedding model"):
        index.update([documents])
    index.close()


def test_another_model_needs_a_rebuild(tmp_path: Path, documents: Path) -> None:
    index = opened(tmp_path)
    index.update([documents])
    index.close()
    other = WordEmbeddings("other", 32)
    with pytest.raises(StoreError, match=r"from words, and the settings say other.*--rebuild"):
        opened(tmp_path, other)
    other.fail_at = 0
    index = opened(tmp_path, other, rebuild=True)
    with pytest.raises(ModelError, match="out of memory"):
        index.update([documents])
    assert index.count() == 2, "the old one stays until the new one is there"
    other.fail_at = None
    assert len(index.update([documents]).added) == 2
    assert len(search(index, "noon", 1)) == 1
    index.close()


@pytest.mark.skipif(not FILES.is_dir(), reason="only Linux lists a process's open files")
def test_a_searching_process_lets_go_of_an_index_that_was_replaced(
    tmp_path: Path, documents: Path
) -> None:
    reader = opened(tmp_path)
    for _ in range(2):
        writer = opened(tmp_path, rebuild=True)
        writer.update([documents])
        writer.close()
        assert len(search(reader, "noon", 3, "bm25")) == 1
    gc.collect()
    held = [str(link.readlink()) for link in FILES.iterdir() if link.is_symlink()]
    assert [name for name in held if name.endswith(".words (deleted)")] == []
    reader.close()


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_where_nothing_is_indexed_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    store = ChromaSettings(path=tmp_path / "new" / "store")
    for rebuild in (False, True):
        index = Index.open(store, FUSED, WordEmbeddings(), rebuild=rebuild)
        assert (index.count(), whole(index), search(index, "noon", 1)) == (0, [], [])
        assert index.update([tmp_path / "empty"]).passages == 0
        index.close()
    assert files(tmp_path) == ["empty"]


def test_a_model_that_gives_too_few_vectors(tmp_path: Path, documents: Path) -> None:
    class Short(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return super().embed_documents(texts)[:1]

    index = opened(tmp_path, Short())
    with pytest.raises(ModelError, match="gave 1 vectors for 2"):
        index.update([documents])
    index.close()
