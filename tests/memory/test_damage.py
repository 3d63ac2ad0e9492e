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
from citeproof.memory.evidence import EvidenceLog
from citeproof.memory.folder_store import ReadOnlyStore
from citeproof.memory.opening import open_store
from citeproof.settings import ChromaSettings
from citeproof.testing import passage
from tests.memory.conftest import Opener
from tests.memory.fakes import search

Usage = namedtuple("Usage", ["total", "used", "free"])


@pytest.fixture
def store(tmp_path: Path, documents: Path, opened: Opener) -> Path:
    folder = tmp_path / "store"
    with closing(opened()) as index:
        index.update([documents])
    (folder / "bank").mkdir()
    for name in ("bank/chroma.sqlite3", "threads.sqlite"):
        (folder / name).write_text("precious")
    return folder


def count(opened: Opener) -> int:
    with closing(opened()) as index:
        assert len(search(index, "noon sheep", 9, "bm25")) == index.count()
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
    store: Path, documents: Path, damage: str, writer_died: bool, opened: Opener
) -> None:
    if writer_died:  # as after a power failure
        (store / "index/copies/12345678-1234-1234-1234-123456789012@7").mkdir(parents=True)
    DAMAGES[damage](store / "index/chroma.sqlite3")
    for _ in range(2):
        with pytest.raises(StoreError, match="index --rebuild") as told:
            count(opened)
        assert "delete" not in str(told.value).lower()
    with pytest.raises(StoreError), closing(opened()) as index:
        index.update([documents])
    with closing(opened(rebuild=True)) as index:
        assert len(index.update([documents]).added) == 2
    assert count(opened) == 2
    assert (store / "threads.sqlite").read_text() == "precious"
    assert (store / "bank/chroma.sqlite3").read_text() == "precious"


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\x00"])
@pytest.mark.parametrize("name", ["version", "store.lock", "update.lock"])
def test_what_says_nothing_about_the_documents_may_be_lost(
    store: Path, documents: Path, name: str, content: bytes | None, opened: Opener
) -> None:
    file = store / "index" / name
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    assert count(opened) == 2
    with closing(opened()) as index:
        assert len(index.update([documents]).unchanged) == 2


def test_a_full_disk_is_no_damage_and_sets_nothing_aside(
    store: Path, documents: Path, monkeypatch: pytest.MonkeyPatch, opened: Opener
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("chromadb.PersistentClient", full)
        with pytest.raises(StoreError, match=r"disk of .* is full: .*\. Free some space"):
            count(opened)
        with (
            pytest.raises(StoreError, match="is full"),
            closing(opened(rebuild=True)) as index,
        ):
            index.update([documents])
    assert count(opened) == 2


def test_a_disk_that_is_nearly_full_explains_what_chroma_does_not(
    store: Path, monkeypatch: pytest.MonkeyPatch, opened: Opener
) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise RuntimeError("Failed to apply logs to the metadata segment")

    monkeypatch.setattr("chromadb.PersistentClient", failing)
    with pytest.raises(StoreError, match="cannot be used: Failed to apply logs"):
        count(opened)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9 - 1000, 1000))
    with pytest.raises(StoreError, match="is full: Failed to apply logs"):
        count(opened)


async def test_a_store_that_may_only_be_read_can_be_searched(
    store: Path, documents: Path, monkeypatch: pytest.MonkeyPatch, opened: Opener
) -> None:
    """As on a read-only disk; the owner of a folder may write it whatever its mode says."""
    before = {file: file.read_bytes() for file in store.rglob("*") if file.is_file()}
    may = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: mode != os.W_OK and may(path, mode), raising=True
    )
    made = open_store(ChromaSettings(path=store), "index")
    assert isinstance(made, ReadOnlyStore)
    with closing(EvidenceLog(made, "evidence", None)) as log:
        with pytest.raises(StoreError, match=r"cannot be changed: it is read-only"):
            await log.record("Q?", "A.", [passage("a")], "supported", "vtg")
        assert await log.recent() == []
    with closing(opened()) as index:
        assert index.count() == 2
        assert len(search(index, "noon sheep", 2, "bm25")) == 2
        assert len(search(index, "noon sheep", 2)) == 2
        with pytest.raises(StoreError, match=r"cannot be changed: it is read-only"):
            index.update([documents])
    assert {file: file.read_bytes() for file in store.rglob("*") if file.is_file()} == before
