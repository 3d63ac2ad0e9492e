"""`citeproof index`: what it shows, lists and removes, and how it ends."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from rich.console import Console

from citeproof.console import indexing, standing
from citeproof.console.indexing import changes, is_of_interest, show_progress
from citeproof.console.standing import Standing, show_standing
from citeproof.errors import InputError, StoreError
from citeproof.memory.index import Index, Step
from citeproof.settings import ChromaSettings, RetrieverSettings
from tests.command import run
from tests.memory.fakes import WordEmbeddings
from tests.tools.web.site import serving

TIDES, SHEEP = "High water is at noon.", "Forty sheep live on the hill."


@pytest.fixture(autouse=True)
def embeddings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WordEmbeddings:
    """The embedding model of the commands, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    model = WordEmbeddings()
    monkeypatch.setattr("citeproof.models.embedder.load_embedder", lambda *_, **__: model)
    return model


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "tides.md").write_text(TIDES)
    (docs / "sheep.txt").write_text(SHEEP)
    return docs


def index(*arguments: str, **options: Any) -> Any:
    return run(["index", *arguments], **options)


def test_documents_are_listed_and_removed(docs: Path) -> None:
    assert "0 documents, 0 passages" in index("--list").stdout
    index("docs")
    shown = index("--list").stdout.splitlines()
    assert shown[1].split()[:3] == [str(docs / "sheep.txt"), "txt", "1"]
    assert shown[-1] == "2 documents, 2 passages"
    listed = json.loads(index("--list", "--json", "docs/tides.md").stdout)
    assert [(one["document"], one["kind"], one["passages"]) for one in listed] == [
        (str(docs / "tides.md"), "md", 1)
    ]
    removed = index("--remove", "docs/tides.md")
    assert (removed.exit_code, removed.stdout) == (0, f"removed {docs / 'tides.md'}\n")
    assert "citeproof index --list" in index("--remove", "docs/tides.md", code=2).stderr


def test_no_model_is_loaded_to_list_and_remove(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index("docs")
    monkeypatch.setattr("citeproof.models.embedder.load_embedder", Mock(side_effect=AssertionError))
    index("--list", code=0)
    index("--remove", "docs", code=0)


def test_the_standard_input_is_a_document(docs: Path) -> None:
    index("-", "--name", "note.md", input="# Tides\n\n" + TIDES, code=0)
    again = index("-", "--name", "note.md", input="# Tides\n\n" + SHEEP)
    assert "updated  1 document" in again.stdout
    [listed] = json.loads(index("--list", "--json").stdout)
    assert (listed["document"], listed["origin"], listed["kind"]) == ("note.md", "text", "md")
    index("docs")
    assert len(json.loads(index("--list", "--json").stdout)) == 3, "no folder drops it"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "There is nothing to index"),
        (["--remove"], "There is nothing to remove"),
        (["-", "docs"], "it must be the only document"),
        (["-", "--rebuild"], "it must be the only document"),
        (["-"], "The standard input is empty"),
        (["-", "--name", "/a/b.txt"], "cannot be called"),
        (["docs", "--name", "b.txt"], "--name is only for stdin"),
        (["https://u:p@example.org/"], "holds a user name or password"),
        (["--watch", "https://example.org/"], "cannot be watched"),
        (["--watch", "a.jsonl", "--vectors", "v.npy"], "--vectors cannot be watched"),
        (["--watch", "nowhere"], "nowhere does not exist"),
    ],
)
def test_what_cannot_be_indexed_is_told_at_once(arguments: list[str], why: str) -> None:
    result = index(*arguments, code=2)
    assert why in result.stderr
    assert result.stderr.count("\n") == 1
    assert not Path(".citeproof").exists()


def test_what_is_left_out_is_named_on_request(docs: Path, tmp_path: Path) -> None:
    for number in range(12):
        (docs / f"a.kind{number}").write_bytes(b"x")
    (tmp_path / "far.txt").write_text("Far.")
    (docs / "far.txt").symlink_to(tmp_path / "far.txt")
    told = index("docs", code=0)  # what no reader reads is no failure
    assert "left out: 12 files of other kinds (kind0 1, kind1 1" in told.stdout
    assert "kind9 1)" in told.stdout
    assert "left out (1): a link that leads out of its folder" in told.stdout
    named = index("docs", "--details").stdout
    assert f"left out: {docs / 'a.kind11'} (no reader for its kind)" in named
    assert f"left out: {docs / 'far.txt'} (a link that leads out of its folder)" in named
    report = json.loads(index("docs", "--json", "--follow-links").stdout)
    assert (len(report["skipped"]), report["left_out"], len(report["added"])) == (12, [], 1)


def test_a_failure_is_told_at_the_end_and_by_the_exit_code(docs: Path) -> None:
    (docs / "bad[red].pdf").write_bytes(b"no pdf")
    result = index("docs", code=1)
    added, whole, failed = (" ".join(line.split()) for line in result.stdout.splitlines())
    assert (added, whole) == ("added 2 documents", "in all 2 passages")
    assert failed.startswith(f"✗ {docs / 'bad[red].pdf'} cannot be read")
    assert "unchanged  2 documents" in index("docs", code=1).stdout
    assert "added   2 documents" in index("docs", "--rebuild", code=1).stdout
    far = "x" * 300  # `pathlib` raises for it, as for a folder that may not be entered
    assert f"{far} cannot be opened" in index("docs/tides.md", far, code=1).stdout
    (docs / "bad[red].pdf").unlink()
    (docs / "rows.jsonl").write_text('{"text": ""}\n{"text": "A row."}\n')
    result = index("docs")
    assert (result.exit_code, "! " in result.stdout) == (0, True), "read, but not as a whole"


def test_ctrl_c_counts_a_single_document_as_one() -> None:
    shown = show_progress(Console(quiet=True), {"a.md": 1}, rebuild=False)
    with pytest.raises(KeyboardInterrupt, match="0 of 1 document is indexed"), shown:
        raise KeyboardInterrupt


def test_ctrl_c_says_what_is_kept_and_doctor_what_is_missing(
    docs: Path, embeddings: WordEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citeproof.memory.ingest._FIRST", 1)
    monkeypatch.setattr("citeproof.memory.ingest._BATCH", 1)
    embeddings.fail_at, embeddings.error = 1, KeyboardInterrupt()
    result = index("docs", code=130)
    told = "1 of 2 documents are indexed; run the same command again to continue.\n"
    assert result.stderr == told
    doctor = run(["doctor"])
    assert "1 of 2 documents are not whole" in doctor.stdout
    embeddings.fail_at = None
    index("docs", code=0)
    assert "2 documents, 2 passages" in run(["doctor"]).stdout
    embeddings.fail_at = 0
    result = index("docs", "--rebuild")
    assert (result.exit_code, "The index is unchanged" in result.stderr) == (130, True)


def test_pages_are_crawled() -> None:
    with serving() as site:
        site.page("/", TIDES, "/sheep")
        site.page("/sheep", SHEEP)
        assert "private network" in index(site.url, code=1).stdout
        result = index(site.url, "--crawl", "--max-pages", "1", "--allow-private", code=0)
        assert "left out (1): there are more pages (1 known)" in result.stdout
        index(site.url, "--crawl", "--allow-private")
        listed = json.loads(index("--list", "--json").stdout)
        assert [one["document"] for one in listed] == [f"{site.url}/", f"{site.url}/sheep"]


# How far it is


def test_the_standing_counts_and_estimates() -> None:
    now = [0.0]
    held = Standing({"a": 100, "b": 300, "c": 100}, lambda: now[0])
    assert (str(held), held.share) == ("0 of 3 documents · 0 passages", 0.0)
    held(Step("a", "reading"))
    held(Step("a", "done"))
    assert str(held) == "1 of 3 documents · 0 passages"
    now[0] = 10.0
    held(Step("b", "storing", 1, 3))
    assert held.left == 30.0, "100 of its bytes took 10 s, and 300 are left"
    assert str(held) == "1 of 3 documents · 1 passage · about 30 s left"
    now[0] = 14.0
    assert held.left == 26.0, "it counts down until more is stored"
    held(Step("b", "done", 3, 3))
    assert held.share == 0.8
    held(Step("https://example.org/", "done"))
    assert str(held) == "3 documents · 3 passages"


def test_the_pace_of_the_first_hundredth_tells_nothing() -> None:
    now = [0.0]
    held = Standing({"a": 10, "b": 990}, lambda: now[0])
    now[0] = 60.0
    held(Step("a", "done", 1, 1))
    assert held.left is None, "most of that time the models were loading"
    assert str(held) == "1 of 2 documents · 1 passage"


def test_without_a_terminal_a_line_is_told_when_there_is_progress(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(standing, "_FIRST_LINE", 0.01)
    monkeypatch.setattr(standing, "_LINES", 0.01)
    written = io.StringIO()
    with show_standing(Console(file=written, width=100), {"a": 1, "b": 1}) as held:
        until(written.getvalue)
        time.sleep(0.1)
        held(Step("a", "done"))
        until(lambda: "1 of 2" in written.getvalue())
    assert written.getvalue().splitlines() == [
        "0 of 2 documents · 0 passages",
        "1 of 2 documents · 0 passages",
    ]


def test_in_a_terminal_a_bar_moves_by_itself() -> None:
    written = io.StringIO()
    console = Console(file=written, width=120, force_terminal=True)
    with show_standing(console, {"[red]a.md": 1, "b": 1}) as held:
        held(Step("/x/[red]a.md", "reading"))
        until(lambda: "[red]a.md" in written.getvalue())
    assert "0 of 2 documents · 0 passages" in written.getvalue()


# Watching


def until(true: Any, seconds: float = 30.0) -> None:
    ends = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("path", "gone", "counts"),
    [
        ("/d/a.md", False, True),
        ("/d/sub/a.pdf", False, True),
        ("/d/a.png", False, False),
        ("/d/a.png", True, True),
        ("/d/.a.md.swp", True, False),
        ("/d/.git/a.md", False, False),
        ("/d/store/index/x.md", True, False),
        ("/e/a.md", False, True),
        ("/e/b.md", False, False),
    ],
)
def test_changes_that_count(path: str, gone: bool, counts: bool) -> None:
    named = [Path("/d"), Path("/e/a.md")]
    assert is_of_interest(Path(path), named, Path("/d/store"), gone=gone) == counts


def test_a_change_is_noticed(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citeproof.console.indexing._LONGEST", 100)
    stop, seen = threading.Event(), threading.Event()

    def watch() -> None:
        for _ in changes([str(docs)], docs / "store", stop):
            seen.set()

    def change() -> bool:
        (docs / f"{time.monotonic()}.md").write_text("New.")
        return seen.is_set()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    until(change)  # again and again, because nothing tells when the system begins to watch
    stop.set()
    thread.join(20)


def test_a_burst_of_changes_is_one(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def watch(*places: Path, **how: Any) -> Iterator[set[Any]]:
        asked.update(how, places=places)
        yield set()

    monkeypatch.setattr("watchfiles.watch", watch)
    assert list(changes([str(docs / "tides.md")], docs / "store")) == [None]
    assert asked["places"] == (docs,)
    assert not asked["recursive"], "the folder's other files are of no interest"
    assert asked["ignore_permission_denied"]
    assert asked["step"] == 500, "milliseconds without a change"
    assert asked["debounce"] >= 10_000


def test_what_the_system_cannot_watch_is_told(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("watchfiles.watch", Mock(side_effect=OSError("watch limit reached")))
    with pytest.raises(InputError, match="cannot be watched: watch limit reached"):
        list(changes([str(docs)], docs / "store"))


@pytest.fixture
def opened(tmp_path: Path, embeddings: WordEmbeddings) -> Iterator[Index]:
    index = Index.open(ChromaSettings(path=tmp_path / "s"), RetrieverSettings(), embeddings)
    yield index
    index.close()


def test_what_changes_is_indexed_until_ctrl_c_and_errors_do_not_end_it(
    docs: Path, opened: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.update([docs])

    def happening(*_: Any) -> Iterator[None]:
        (docs / "new.md").write_text("It rained in May.")
        yield
        (docs / "bad.pdf").write_bytes(b"x")
        (docs / "sheep.txt").unlink()
        yield
        with monkeypatch.context() as broken:
            failing = Mock(side_effect=StoreError("The store cannot be used"))
            broken.setattr(opened, "update", failing)
            yield
        (docs / "tides.md").write_text("High water is at six.")
        yield
        raise KeyboardInterrupt

    monkeypatch.setattr(indexing, "changes", happening)
    written = io.StringIO()
    console = Console(file=written, width=200)
    indexing.index_changes(opened, [str(docs)], Path("s"), console, follow_links=False)
    lines = written.getvalue().splitlines()
    assert lines[0].startswith("Watching for changes")
    assert lines[1].endswith(" added new.md")
    assert lines[2].endswith(" removed sheep.txt")
    assert "bad.pdf cannot be read" in lines[3]
    assert lines[4] == "The store cannot be used."
    assert lines[5].endswith(" updated tides.md")
    assert lines[-1] == "Stopped watching."
    assert opened.count() == 2
