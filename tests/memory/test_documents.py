"""Ways into the index: files named in several ways, pages, texts; what is listed and removed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from langchain_core.documents import Document

from citeproof.errors import InputError, StoreError
from citeproof.memory.index import Index, Web
from citeproof.settings import RetrieverSettings
from citeproof.types import Passage
from tests.memory.conftest import Opener
from tests.memory.fakes import WordEmbeddings, search
from tests.memory.test_index import texts
from tests.tools.web.site import Answer, Site, serving

TIDES, SHEEP = "High water is at noon.", "Forty sheep live on the hill."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "d"
    (folder / "sub").mkdir(parents=True)
    (folder / "tides.md").write_text(f"# Tides\n\n{TIDES}\n")
    (folder / "sub" / "sheep.txt").write_text(SHEEP)
    return folder


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


def names(index: Index) -> list[str]:
    return [one.document for one in index.documents()]


def test_a_folder_that_is_named_in_several_ways_is_one(
    index: Index, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(folder)
    index.update([folder])
    monkeypatch.chdir(folder / "sub")
    for way in (Path("../../d"), tmp_path / "link", Path("../tides.md"), str(folder)):
        report = index.update([way])
        assert (report.added, report.removed, report.passages) == ((), (), 2), way
    assert names(index) == [str(folder / "sub" / "sheep.txt"), str(folder / "tides.md")]


@pytest.mark.parametrize("way", ["link", "d/sub/..", "d"])
def test_a_deleted_file_disappears_however_its_folder_is_named(
    index: Index, folder: Path, tmp_path: Path, way: str
) -> None:
    (tmp_path / "link").symlink_to(folder)
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.write_text("Kept elsewhere.")
    index.update([folder, elsewhere])
    (folder / "tides.md").unlink()
    elsewhere.unlink()
    assert index.update([tmp_path / way]).removed == (str(folder / "tides.md"),)
    assert texts(index) == {SHEEP, "Kept elsewhere."}
    assert index.update([elsewhere]).removed == (str(elsewhere),)
    assert search(index, "noon elsewhere", 3, "bm25") == []


def test_links_out_of_a_folder_are_followed_only_on_request(
    index: Index, folder: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "far.txt").write_text("Far away it rains.")
    (tmp_path / "key.txt").write_text("The key of the house.")
    (folder / "far").symlink_to(outside)
    (folder / "key.txt").symlink_to(tmp_path / "key.txt")
    (folder / "inside.md").symlink_to(folder / "tides.md")
    report = index.update([folder])
    assert sorted(name for name, _ in report.left_out) == [
        str(folder / "far"),
        str(folder / "key.txt"),
    ]
    assert texts(index) == {TIDES, SHEEP}
    # Named as well, it is no way out.
    assert [name for name, _ in index.update([folder, outside]).left_out] == [
        str(folder / "key.txt")
    ]
    report = index.update([folder], follow_links=True)
    assert (report.left_out, report.passages) == ((), 4)
    (outside / "far.txt").unlink()
    assert index.update([folder], follow_links=True).removed == (str(outside / "far.txt"),)


def test_a_folder_that_was_renamed_is_not_embedded_again(
    index: Index, folder: Path, tmp_path: Path, embeddings: WordEmbeddings
) -> None:
    (folder / "rows.jsonl").write_text('{"id": "a", "text": "One row.", "source": "x"}\n')
    index.update([folder])
    assert search(index, "sheep on the hill", 1) == [SHEEP]
    embeddings.embedded.clear()
    renamed = folder.rename(tmp_path / "e")
    report = index.update([renamed])
    assert sorted(report.moved) == [
        (str(folder / name), str(renamed / name))
        for name in ("rows.jsonl", "sub/sheep.txt", "tides.md")
    ]
    assert (report.added, report.removed, report.passages) == ((), (), 3)
    assert embeddings.embedded == []
    assert names(index) == sorted(str(path) for path in renamed.rglob("*.*"))
    assert search(index, "sheep on the hill", 1) == search(index, "sheep", 3, "bm25") == [SHEEP]
    assert {passage.source for passage in index.passages()} == {"x", *names(index)[1:]}
    assert len(index.update([renamed]).unchanged) == 3


def test_a_copy_is_no_move(index: Index, folder: Path) -> None:
    index.update([folder])
    (folder / "copy.txt").write_text(SHEEP)
    report = index.update([folder])
    assert (report.moved, report.added) == ((), (str(folder / "copy.txt"),))
    assert report.passages == 3


def test_the_documents_are_listed(index: Index, folder: Path) -> None:
    assert index.documents() == []
    index.update([folder])
    index.add([Document("Rams stand on the pier.", id="rams")])
    sheep, tides, rams = index.documents()
    assert (sheep.document, sheep.origin, sheep.kind, sheep.passages, sheep.whole) == (
        str(folder / "sub" / "sheep.txt"),
        "file",
        "txt",
        1,
        True,
    )
    assert (tides.kind, rams.document, rams.origin) == ("md", "rams", "text")
    assert tides.indexed is not None
    assert abs((datetime.now(UTC) - tides.indexed).total_seconds()) < 60


def test_passages_are_read_by_document_and_by_source(index: Index, folder: Path) -> None:
    assert (index.get(["p1"]), index.document("p"), index.count()) == ([], [], 0)
    index.update([folder])
    index.add([Passage(id=f"p{n}", text=f"Ram {n}.", source="a list", page=n) for n in (2, 1)])
    [sheep] = index.document(str(folder / "sub" / "sheep.txt"))
    assert sheep.text == SHEEP
    assert [passage.id for passage in index.document("a list")] == ["p1", "p2"]


def test_an_index_that_was_closed_says_so(index: Index, folder: Path) -> None:
    index.update([folder])
    index.close()
    for use in (index.count, lambda: search(index, "x", 1), lambda: index.update([folder])):
        with pytest.raises(StoreError, match=r"was closed: .*nothing is damaged\.$"):
            use()
    index.close()


def test_what_an_interrupted_update_left_to_do_is_known(
    index: Index, folder: Path, embeddings: WordEmbeddings
) -> None:
    embeddings.fail_at, embeddings.error = 0, KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        index.update([folder])
    assert [(one.passages, one.whole) for one in index.documents()] == [(0, False)] * 2
    embeddings.fail_at = None
    (folder / "tides.md").unlink()
    (folder / "odd.txt").write_bytes(b"\x00\x01")
    report = index.update([folder])
    assert (len(report.errors), report.removed) == (1, ())
    assert [(one.passages, one.whole) for one in index.documents()] == [(1, True)]


def test_documents_are_removed_by_name_and_by_folder(index: Index, folder: Path) -> None:
    index.update([folder])
    index.add(["Rams stand on the pier."], ids=["rams"])
    with pytest.raises(InputError, match="no document nothing in the index"):
        index.remove(["rams", "nothing"])
    assert index.count() == 3
    assert index.remove(["rams", folder / "sub"]) == ["rams", str(folder / "sub" / "sheep.txt")]
    assert texts(index) == {TIDES}
    assert search(index, "sheep rams", 3, "bm25") == []
    # The file is still there, so that it is indexed again when its folder is.
    assert index.update([folder]).added == (str(folder / "sub" / "sheep.txt"),)


def test_texts_are_added_with_stable_ids(index: Index, embeddings: WordEmbeddings) -> None:
    data = {"source": "almanac", "title": "Tides", "page": 3}
    given: list[str | Document] = [
        SHEEP,
        Document(TIDES, metadata=data),
        Document("Rams.", id="rams"),
    ]
    ids = index.add(given)
    assert ids[2] == "rams"
    assert len(set(ids)) == 3
    [tides] = (passage for passage in index.passages() if passage.text == TIDES)
    assert (tides.source, tides.title, tides.page) == ("almanac", "Tides", 3)
    embeddings.embedded.clear()
    assert index.add(given) == ids
    assert embeddings.embedded == []
    index.add([Document("Ewes.", id="rams")])
    assert texts(index) == {SHEEP, TIDES, "Ewes."}
    index.add([SHEEP, "Ewes on the pier."], ids=["one", "rams"])
    assert texts(index) == {SHEEP, TIDES, "Ewes on the pier."}
    assert index.remove(ids[:1]) == ids[:1]
    assert index.count() == 3, "the other one of the same words stays"


@pytest.mark.parametrize(
    ("given", "ids", "why"),
    [
        (["a", " "], None, "Text 2 is empty"),
        (["a", "b"], ["x"], "1 ids for 2 texts"),
        (["a", "b"], ["x", "x"], "given twice"),
        (["a"], ["https://a.b/"], "cannot be called"),
        (["a"], [os.sep + "a"], "cannot be called"),
    ],
)
def test_texts_that_cannot_be_added(
    index: Index, given: list[str], ids: list[str] | None, why: str
) -> None:
    with pytest.raises(InputError, match=why):
        index.add(given, ids=ids)
    assert index.count() == 0


def test_pages_are_indexed_under_their_urls(
    index: Index, folder: Path, site: Site, embeddings: WordEmbeddings
) -> None:
    web = Web(allow_private=True, delay=0, crawl=True)
    site.page("/docs/", "The harbour opens in May.", "tides")
    site.page("/docs/tides", TIDES)
    start, tides = f"{site.url}/docs/", f"{site.url}/docs/tides"
    report = index.update([folder, start], web=web)
    assert set(report.added) == {start, tides, *map(str, folder.rglob("*.*"))}
    assert {p.source for p in index.passages() if "harbour" in p.text} == {start}
    embeddings.embedded.clear()
    site.asked.clear()
    assert set(index.update([start], web=web).unchanged) == {start, tides}
    assert (embeddings.embedded, [a for a in site.asked if "if-none-match" not in a]) == (
        [],
        ["/robots.txt"],
    )
    site.page("/docs/tides", "High water is at six.")
    assert index.update([start], web=web).updated == (tides,)
    site.answers["/docs/tides"] = Answer(b"busy", status=503)
    report = index.update([start], web=web)
    assert [name for name, _ in report.errors] == [tides]
    assert any("High water is at six." in text for text in texts(index)), "it may come back"
    del site.answers["/docs/tides"]
    assert index.update([start], web=web).removed == (tides,)
    assert [(d.document, d.kind) for d in index.documents() if d.origin == "url"] == [
        (start, "html")
    ]
    assert index.remove([site.url]) == [start]


def test_a_page_that_is_refused_leaves_no_store(tmp_path: Path, site: Site, opened: Opener) -> None:
    site.page("/", "Start.")
    report = opened().update([site.url])
    assert "private network" in report.errors[0][1]
    assert list(tmp_path.iterdir()) == []


def test_a_rebuild_from_a_page_that_fails_leaves_the_index(
    tmp_path: Path, folder: Path, site: Site, opened: Opener
) -> None:
    index = opened()
    index.update([folder])
    rebuilt = opened(rebuild=True)
    for nothing in (site.url, tmp_path / "missing"):
        with pytest.raises(InputError, match="not rebuilt"):
            rebuilt.update([nothing])
    assert index.count() == 2


def test_another_passage_length_fetches_pages_anew(index: Index, site: Site) -> None:
    web = Web(allow_private=True, delay=0)
    site.page("/", " ".join(f"Line {n} is about sheep." for n in range(60)))
    index.update([site.url], web=web)
    before = index.count()
    index._settings = RetrieverSettings(passage_words=20)
    assert len(index.update([site.url], web=web).updated) == 1
    assert index.count() > before
