from __future__ import annotations

import gc
import json
from collections import Counter
from pathlib import Path

import pytest

from citeproof.errors import InputError, MissingExtraError, ModelError, SettingsError, StoreError
from citeproof.memory import ingest
from citeproof.memory.index import Index, IndexReport, Step
from citeproof.settings import Settings
from citeproof.testing import passage
from citeproof.tools.retrieval.remote_embeddings import open_embedder
from tests.memory.conftest import Opener
from tests.memory.fakes import WordEmbeddings, search

FILES = Path("/proc/self/fd")
"""The open files of this process."""
LONG = " ".join(f"Line {n} of the long story is about sheep." for n in range(60))


@pytest.fixture
def filled(opened: Opener, documents: Path) -> Index:
    """An index with the two documents."""
    index = opened()
    index.update([documents])
    return index


def whole(index: Index) -> list[tuple[str, int]]:
    """The documents that are indexed, and how many passages each has."""
    counts = Counter(passage.source for passage in index.passages())
    return [(one.document, counts[one.document]) for one in index.documents() if one.whole]


def texts(index: Index) -> set[str]:
    return {passage.text for passage in index.passages()}


def write_rows(file: Path, ids: str) -> None:
    rows = [json.dumps({"id": key, "text": f"Row {key} of {file.stem}."}) for key in ids]
    file.write_text("\n".join(rows))


def test_update_indexes_and_reports(documents: Path, opened: Opener) -> None:
    index = opened()
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


def test_only_what_changed_is_embedded_again(
    filled: Index, documents: Path, opened: Opener, embeddings: WordEmbeddings
) -> None:
    filled.close()
    embeddings.embedded.clear()
    index = opened()
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


def test_a_missing_folder_is_an_error_and_nothing_is_dropped(
    filled: Index, documents: Path
) -> None:
    documents.rename(documents.with_name("unmounted"))
    report = filled.update([documents])
    assert "does not exist" in report.errors[0][1]
    assert (report.removed, report.passages) == ((), 2)


def test_bad_documents_are_listed_and_the_others_indexed(filled: Index, documents: Path) -> None:
    (documents / "bad.pdf").write_bytes(b"no pdf")
    (documents / "sheep.txt").write_text("")
    (documents / "rows.jsonl").write_text('{"text": ""}\n{"text": "One row."}\n')
    report = filled.update([documents])
    assert [Path(name).name for name, _ in report.errors] == ["bad.pdf"]
    assert report.left_out == ((str(documents / "sheep.txt"), "it holds no text"),)
    assert [Path(name).name for name, _ in report.problems] == ["rows.jsonl"]
    # It says something else now, namely nothing; what it said before is no evidence any more.
    assert report.removed == (str(documents / "sheep.txt"),)
    assert texts(filled) == {"High water is at noon.", "One row."}


@pytest.mark.parametrize("content", ["", "---\ntitle: Index\n---\n<Toc />\n"])
def test_a_file_without_text_is_an_error_only_if_it_was_named(
    filled: Index, documents: Path, content: str
) -> None:
    (page := documents / "index.mdx").write_text(content)
    in_folder, named = filled.update([documents]), filled.update([page])
    assert (in_folder.errors, len(in_folder.left_out)) == ((), 1)
    assert (len(named.errors), named.left_out) == (1, ())


def test_a_file_that_cannot_be_opened_keeps_its_passages(
    filled: Index, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_bytes = Path.read_bytes

    def denied(path: Path) -> bytes:
        if path.name == "sheep.txt":
            raise PermissionError(13, "Permission denied")
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", denied)
    report = filled.update([documents])
    assert (len(report.errors), report.removed, report.passages) == (1, (), 2)


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), KeyboardInterrupt()])
def test_an_interrupted_update_is_finished_by_the_next(
    documents: Path,
    error: BaseException,
    monkeypatch: pytest.MonkeyPatch,
    opened: Opener,
    embeddings: WordEmbeddings,
) -> None:
    monkeypatch.setattr(ingest, "_BATCH", 4)
    (documents / "long.txt").write_text(LONG * 5)
    embeddings.fail_at, embeddings.error = 7, error
    index = opened()
    with pytest.raises((ModelError, KeyboardInterrupt)):
        index.update([documents])
    assert (whole(index), index.count()) == ([], 4)
    index.close()
    embeddings.fail_at = None
    embeddings.embedded.clear()
    index = opened()
    report = index.update([documents])
    assert len(report.added + report.updated) == 3
    # The four that were stored are not embedded again.
    assert len(embeddings.embedded) == report.passages - 4
    assert len(index.update([documents]).unchanged) == 3
    assert sum(count for _, count in whole(index)) == index.count()


def test_ids_of_jsonl_belong_to_one_file(filled: Index, documents: Path) -> None:
    one, two = documents / "one.jsonl", documents / "two.jsonl"
    write_rows(one, "ab")
    write_rows(two, "bc")
    [(name, why)] = filled.update([documents]).errors
    assert name == str(two)
    assert "'b' is already that of a passage of" in why
    assert len(filled.get(["a", "b", "c"])) == 2
    write_rows(one, "a")
    assert filled.update([documents]).errors == ()
    assert len(filled.get(["a", "b", "c"])) == 3


def test_what_is_added_in_vain_is_told(filled: Index) -> None:
    x, y, z = (passage(f"Sheep {name}.", id=name) for name in "xyz")
    filled.add([x, y], name="one")
    with pytest.raises(InputError, match="'x' is already that of a passage of one"):
        filled.add([z, x], name="two")
    assert filled.get(["x", "y", "z"]) == [x, y]


@pytest.mark.parametrize("batch", [1, 500])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["a", "b"], ["b", "a"]),
        (["ab", "cd", "ef"], ["bc", "de", "f"]),  # the first row of all was deleted
        (["a", "bc", "d"], ["c", "bd", "a"]),
        (["a", "bc"], ["ac", "b"]),  # the file that takes an id is read before the one that had it
        (["ac", "b"], ["ab", ""]),  # the file that had it is gone
    ],
)
def test_files_of_jsonl_hand_ids_to_each_other(
    filled: Index,
    documents: Path,
    before: list[str],
    after: list[str],
    batch: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ingest, "_BATCH", batch)
    for keys in (before, after):
        for number, own in enumerate(keys):
            file = documents / f"{number}.jsonl"
            write_rows(file, own)
            if not own:
                file.unlink()
        assert filled.update([documents]).errors == ()
    held = {f"Row {key} of {number}." for number, own in enumerate(after) for key in own}
    assert {text for text in texts(filled) if text.startswith("Row")} == held
    assert set(search(filled, "row", 9, "bm25")) == held
    assert len(filled.update([documents]).unchanged) == 2 + len(list(filter(None, after)))


@pytest.mark.parametrize("has_model", [True, False])
def test_by_words_no_model_is_asked_for_anything(
    documents: Path, has_model: bool, opened: Opener, embeddings: WordEmbeddings
) -> None:
    embeddings.fail_at = 0
    index = opened(embeddings if has_model else None, kind="bm25")
    assert index.update([documents]).errors == ()
    assert len(search(index, "noon", 3, "bm25")) == 1
    with pytest.raises(SettingsError, match="without an embedding model"):
        search(index, "noon", 3)
    with pytest.raises(SettingsError, match="needs an embedding model"):
        opened(None)
    with pytest.raises(StoreError, match=r"from no model, .*citeproof index --rebuild"):
        opened()


def test_by_words_an_index_of_vectors_keeps_its_vectors(
    filled: Index, documents: Path, opened: Opener
) -> None:
    without = opened(None, kind="bm25")
    assert len(search(without, "noon", 3, "bm25")) == 1
    assert len(without.update([documents]).unchanged) == 2
    (documents / "new.txt").write_text("Rams stand on the pier.")
    with pytest.raises(StoreError, match="without its embedding model"):
        without.update([documents])
    with pytest.raises(StoreError, match="without its embedding model.*are from words"):
        opened(WordEmbeddings("other"), kind="bm25").update([documents])
    opened(kind="bm25").update([documents])
    assert search(filled, "rams on the pier", 1) == ["Rams stand on the pier."]


@pytest.mark.parametrize("installed", [True, False])
def test_the_embedder_is_not_needed_for_words(
    installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not installed:
        monkeypatch.setattr("citeproof.models.embedder.find_spec", lambda _: None)
        with pytest.raises(MissingExtraError, match="sentence-transformers"):
            open_embedder(Settings.load())
    found = open_embedder(Settings.load(**{"retriever.kind": "bm25"}))
    assert (found is not None) == installed


def test_another_model_needs_a_rebuild(filled: Index, documents: Path, opened: Opener) -> None:
    other = WordEmbeddings("other", 32)
    with pytest.raises(StoreError, match=r"from words, and the settings say other.*--rebuild"):
        opened(other)
    other.fail_at = 0
    index = opened(other, rebuild=True)
    with pytest.raises(ModelError, match="out of memory"):
        index.update([documents])
    assert index.count() == 2, "the old one stays until the new one is there"
    other.fail_at = None
    assert len(index.update([documents]).added) == 2
    assert len(search(index, "noon", 1)) == 1


@pytest.mark.skipif(not FILES.is_dir(), reason="only Linux lists a process's open files")
def test_a_searching_process_lets_go_of_an_index_that_was_replaced(
    documents: Path, opened: Opener
) -> None:
    reader = opened()
    for _ in range(2):
        writer = opened(rebuild=True)
        writer.update([documents])
        writer.close()
        assert len(search(reader, "noon", 3, "bm25")) == 1
    gc.collect()
    held = [str(link.readlink()) for link in FILES.iterdir() if link.is_symlink()]
    assert [name for name in held if name.endswith(".words (deleted)")] == []


@pytest.mark.parametrize("rebuild", [False, True])
def test_where_nothing_is_indexed_nothing_is_made(
    tmp_path: Path, opened: Opener, rebuild: bool
) -> None:
    (tmp_path / "empty").mkdir()
    index = opened(rebuild=rebuild)
    assert (index.count(), whole(index), search(index, "noon", 1)) == (0, [], [])
    assert index.update([tmp_path / "empty"]).passages == 0
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_a_model_that_gives_too_few_vectors(documents: Path, opened: Opener) -> None:
    class Short(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return super().embed_documents(texts)[:1]

    with pytest.raises(ModelError, match="gave 1 vectors for 2"):
        opened(Short()).update([documents])
