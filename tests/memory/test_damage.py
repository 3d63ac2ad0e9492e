"""A damaged index is told, rebuilt in place, and takes nothing else with it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections import namedtuple
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from citeproof.errors import StoreError
from citeproof.memory.folder_store import ReadOnlyStore
from citeproof.memory.index import Index
from citeproof.memory.opening import open_store
from citeproof.settings import ChromaSettings, RetrieverSettings
from tests.memory.fakes import WordEmbeddings, search

Usage = namedtuple("Usage", ["total", "used", "free"])


def opened(folder: Path, **options: Any) -> Index:
    return Index.open(ChromaSettings(path=folder), RetrieverSettings(), WordEmbeddings(), **options)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    for n in range(5):
        (folder / f"{n}.md").write_text(f"Document {n} tells of tower number {n}.")
    return folder


@pytest.fixture
def store(tmp_path: Path, documents: Path) -> Path:
    folder = tmp_path / "store"
    with closing(opened(folder)) as index:
        index.update([documents])
    (folder / "bank").mkdir()
    for name in ("bank/chroma.sqlite3", "threads.sqlite"):
        (folder / name).write_text("precious")
    return folder


def count(folder: Path) -> int:
    with closing(opened(folder)) as index:
        assert search(index, "tower", 9, "bm25") == [] or index.count() == 5
        return index.count()


def drop_table(file: Path) -> None:
    with closing(sqlite3.connect(file)) as tables:
        tables.execute("DROP TABLE collections")


def make_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "junk": lambda file: file.write_bytes(b"junk" * 5000),
    "half": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "empty": lambda file: file.write_bytes(b""),
    "gone": lambda file: file.unlink(),
    "a folder": make_folder,
    "without a table": drop_table,
}


@pytest.mark.parametrize("writer_died", [False, True])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_told_and_rebuilt(
    store: Path, documents: Path, damage: str, writer_died: bool
) -> None:
    if writer_died:  # as after a power failure
        (store / "index/copies/12345678-1234-1234-1234-123456789012@7").mkdir(parents=True)
    DAMAGES[damage](store / "index/chroma.sqlite3")
    for _ in range(2):
        with pytest.raises(StoreError, match="index --rebuild") as told:
            count(store)
        assert "delete" not in str(told.value).lower()
    with pytest.raises(StoreError), closing(opened(store)) as index:
        index.update([documents])
    with closing(opened(store, rebuild=True)) as index:
        assert len(index.update([documents]).added) == 5
    assert count(store) == 5
    assert (store / "threads.sqlite").read_text() == "precious"
    assert (store / "bank/chroma.sqlite3").read_text() == "precious"


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\x00"])
@pytest.mark.parametrize("name", ["version", "store.lock", "update.lock"])
def test_what_says_nothing_about_the_documents_may_be_lost(
    store: Path, documents: Path, name: str, content: bytes | None
) -> None:
    file = store / "index" / name
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    assert count(store) == 5
    with closing(opened(store)) as index:
        assert len(index.update([documents]).unchanged) == 5


def test_a_full_disk_is_no_damage_and_sets_nothing_aside(
    store: Path, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("chromadb.PersistentClient", full)
        with pytest.raises(StoreError, match=r"disk of .* is full: .*\. Free some space"):
            count(store)
        with (
            pytest.raises(StoreError, match="is full"),
            closing(opened(store, rebuild=True)) as index,
        ):
            index.update([documents])
    assert count(store) == 5


def test_a_disk_that_is_nearly_full_explains_what_chroma_does_not(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise RuntimeError("Failed to apply logs to the metadata segment")

    monkeypatch.setattr("chromadb.PersistentClient", failing)
    with pytest.raises(StoreError, match="cannot be used: Failed to apply logs"):
        count(store)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9 - 1000, 1000))
    with pytest.raises(StoreError, match="is full: Failed to apply logs"):
        count(store)


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_store_that_was_closed_says_so(tmp_path: Path, documents: Path, in_memory: bool) -> None:
    settings = ChromaSettings(path=tmp_path / "store", in_memory=in_memory)
    index = Index.open(settings, RetrieverSettings(), WordEmbeddings())
    index.update([documents])
    index.close()
    for use in (index.count, lambda: search(index, "x", 1), lambda: index.update([documents])):
        with pytest.raises(StoreError, match=r"was closed: .*nothing is damaged\.$"):
            use()
    index.close()


def test_a_store_that_may_only_be_read_can_be_searched(
    store: Path, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a read-only disk; the owner of a folder may write it whatever its mode says."""
    before = {file: file.read_bytes() for file in store.rglob("*") if file.is_file()}
    may = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: mode != os.W_OK and may(path, mode), raising=True
    )
    made = open_store(ChromaSettings(path=store), "index")
    assert isinstance(made, ReadOnlyStore)
    made.close()
    with closing(opened(store)) as index:
        assert index.count() == 5
        assert len(search(index, "tower number 3", 2, "bm25")) == 2
        assert len(search(index, "tower number 3", 2)) == 2
        with pytest.raises(StoreError, match=r"cannot be changed: it is read-only"):
            index.update([documents])
    assert {file: file.read_bytes() for file in store.rglob("*") if file.is_file()} == before
    shutil.rmtree(documents)
