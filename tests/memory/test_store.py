"""Collections in memory and in a folder: what is put there, what is damaged, what is replaced."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import chromadb
import pytest
from chromadb import Collection

from citeproof.errors import StoreError
from citeproof.memory import folder_store, locks
from citeproof.memory.opening import StoreName, open_store
from citeproof.memory.store import Store, fetch
from citeproof.settings import ChromaSettings

Opener = Callable[..., Store]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opener]:
    """Opens a store in the test's folder, or elsewhere; it is closed at the end."""
    with ExitStack() as held:

        def open_(name: StoreName = "index", **place: Any) -> Store:
            made = open_store(ChromaSettings(**place or {"path": tmp_path / "store"}), name)
            held.callback(made.close)
            return made

        yield open_


@pytest.fixture(params=[{"in_memory": True}, {}], ids=["memory", "folder"])
def store(request: pytest.FixtureRequest, opened: Opener) -> Store:
    return opened(**request.param)


def fill(
    store: Store, count: int, name: str = "things", vectors: list[list[float]] | None = None
) -> None:
    numbers = range(count)
    with store.writing("a test", {name: "m"}) as (made,):
        texts, data = [f"text {n}" for n in numbers], [{"n": n} for n in numbers]
        ids = [f"id{n}" for n in numbers]
        store.write(made, "upsert", ids, documents=texts, metadatas=data, embeddings=vectors)


def held(store: Store, name: str = "things") -> int:
    with store.reading("a test", name) as (found,):
        return found.count() if found else 0


def test_more_records_than_one_request_holds(store: Store) -> None:
    fill(store, 2500)
    with store.writing("a test", {"things": "m"}) as (things,):
        ids = [f"id{n}" for n in range(2500)]
        assert fetch(things, ids, "documents").keys() == set(ids)
        store.write(things, "delete", ids[:2400])
    assert held(store) == 100


def test_a_plain_chroma_client_reads_the_folder(tmp_path: Path, opened: Opener) -> None:
    store = opened()
    fill(store, 2, vectors=[[1.0, 0.0], [0.0, 1.0]])
    store.close()
    (folder,) = (path.parent for path in tmp_path.rglob("chroma.sqlite3"))
    client = chromadb.PersistentClient(path=str(folder))
    found = client.get_collection("things", embedding_function=None).query(
        query_embeddings=[0.1, 0.9], n_results=1
    )
    assert (found["ids"], found["documents"]) == ([["id1"]], [["text 1"]])
    client.close()  # type: ignore[attr-defined]


def test_what_is_replaced_stays_until_the_new_is_there(store: Store) -> None:
    fill(store, 3)
    fill(store, 5, "others")
    names = ["things", "others"]
    with suppress(KeyError), store.updating("x", *names, rebuild=True) as made:
        fill(store, 1, made[0])
        raise KeyError
    assert (held(store), held(store, "others")) == (3, 5)
    with store.updating("x", *names, rebuild=True) as made:
        fill(store, 1, made[0])
        fill(store, 2, made[1])
        assert held(store) == 3
    assert (held(store), held(store, "others")) == (1, 2)
    with store.updating("x", "things", rebuild=True):
        pass
    assert (held(store), held(store, "others")) == (0, 2)


@pytest.mark.parametrize("steps", range(1, 5))
def test_a_replacement_that_was_cut_off_is_read_and_ended(
    steps: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, 3)
    fill(store, 5, "others")
    taken = [0]

    def dying(real: Any) -> Any:
        def step(*args: Any, **options: Any) -> Any:
            if taken[0] == steps:
                raise KeyError("died")
            taken[0] += 1
            return real(*args, **options)

        return step

    names = ["things", "others"]
    with suppress(StoreError), store.updating("x", *names, rebuild=True) as made:
        fill(store, 1, made[0])
        fill(store, 2, made[1])
        for kind, name in (
            (chromadb.api.client.Client, "delete_collection"),
            (Collection, "modify"),
        ):
            monkeypatch.setattr(kind, name, dying(getattr(kind, name)))
    monkeypatch.undo()
    assert taken == [steps]
    assert (held(store), held(store, "others")) == (3 if steps == 1 else 1, 2)
    with store.updating("x", *names):
        assert (held(store), held(store, "others")) == (1, 2)
    assert sorted(store.list_names("")) == sorted(names)


def test_a_store_that_is_replaced_may_have_a_torn_page(tmp_path: Path, opened: Opener) -> None:
    store = opened()
    fill(store, 2000)
    store.close()
    (file,) = tmp_path.rglob("chroma.sqlite3")
    data = file.read_bytes()
    middle = len(data) // 2 // 4096 * 4096
    file.write_bytes(data[:middle] + b"x" * 4096 + data[middle + 4096 :])
    store = opened()
    with store.updating("x", "things", rebuild=True) as (name,):
        fill(store, 2, name)
    assert held(store) == 2
    assert len(list(tmp_path.rglob("chroma.sqlite3"))) == 1


def test_a_replaced_store_takes_no_more_room(tmp_path: Path, opened: Opener) -> None:
    store, sizes = opened(), []
    for _ in range(3):
        with store.updating("x", "things", rebuild=True) as (name,):
            fill(store, 2000, name, [[1.0, n] for n in range(2000)])
        sizes.append(sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()))
    assert sizes[2] < 1.2 * sizes[0]
    assert len(list(tmp_path.rglob("*.pickle"))) == 1
    with store.reading("a test", "things") as (things,):
        assert store.nearest(things, [[1.0, 0.0]], 1)["ids"] == [["id0"]]


@pytest.mark.parametrize("kind", ["bank", "evidence"])
def test_no_advice_deletes_what_cannot_be_made_again(
    tmp_path: Path, kind: Any, opened: Opener
) -> None:
    store = opened(kind)
    fill(store, 3)
    store.close()
    (file,) = tmp_path.rglob("chroma.sqlite3")
    file.write_bytes(file.read_bytes()[:9000])
    store = opened(kind)
    with pytest.raises(StoreError) as caught:
        held(store)
    assert caught.value.fix
    assert "delete" not in caught.value.fix
    assert "citeproof index" not in caught.value.fix


def test_vector_files_that_are_gone_are_said_to_be(tmp_path: Path, opened: Opener) -> None:
    store = opened()
    fill(store, 1000, vectors=[[1.0, n] for n in range(1000)])
    store.close()
    (segment,) = {file.parent for file in tmp_path.rglob("*.pickle")}
    shutil.rmtree(segment)
    store = opened()
    with (
        pytest.raises(StoreError, match=r"is damaged: .*vectors are not found.*--rebuild"),
        store.reading("a test", "things") as (things,),
    ):
        store.nearest(things, [[1.0, 1.0]], 3)
    with store.updating("x", "things", rebuild=True) as (name,):
        fill(store, 10, name, [[1.0, n] for n in range(10)])
    with store.reading("a test", "things") as (things,):
        assert store.nearest(things, [[1.0, 0.0]], 1)["ids"] == [["id0"]]


def test_records_that_are_written_during_a_search_are_no_damage(
    monkeypatch: pytest.MonkeyPatch, opened: Opener
) -> None:
    store, real = opened(in_memory=True), Collection.query
    fill(store, 0)

    def query(collection: Collection, **options: Any) -> Any:
        found = real(collection, **options)
        if not found["ids"][0]:
            fill(store, 10, vectors=[[1.0, n] for n in range(10)])
        return found

    monkeypatch.setattr(Collection, "query", query)
    with store.reading("a test", "things") as (things,):
        assert len(store.nearest(things, [[1.0, 0.0]], 5)["ids"][0]) == 5


def test_a_file_in_place_of_the_folder(tmp_path: Path, opened: Opener) -> None:
    (tmp_path / "store").write_text("x")
    with pytest.raises(StoreError, match="cannot be used"):
        opened(path=tmp_path / "store", serve=True)
    store = opened()
    with pytest.raises(StoreError, match="cannot be used"):
        fill(store, 1)


def test_a_server_that_does_not_answer(opened: Opener) -> None:
    with pytest.raises(StoreError, match=r"at 127\.0\.0\.1:9 .*chroma run"):
        opened(host="127.0.0.1", port=9)


def test_a_process_may_open_a_folder_any_number_of_times(
    monkeypatch: pytest.MonkeyPatch, opened: Opener
) -> None:
    monkeypatch.setattr(folder_store, "_spellings", itertools.count(10_000_000))
    stores = [opened() for _ in range(2)]
    for number in range(1, 4):
        for store in stores:  # each one reopens the folder after the other has written
            fill(store, number)
            assert held(store) == number


def test_a_lock_that_was_released_since_it_was_looked_up_is_not_that_of_a_dead_process(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = opened(in_memory=True)._client
    real, looked = client.get_or_create_collection, []

    def look(*args: Any, **options: Any) -> Any:
        looked.append(locks._describe_process("working") | {"token": "of a thread that is done"})
        return SimpleNamespace(metadata=looked[0]) if len(looked) == 1 else real(*args, **options)

    monkeypatch.setattr(client, "get_or_create_collection", look)
    with locks.server_lock(client, "turn", "working"):
        assert len(looked) == 2
    assert "has died" not in caplog.text


def test_threads_share_a_folder(opened: Opener) -> None:
    def work(number: int) -> None:
        own = opened()
        for turn in range(5):
            with own.writing("a test", {"things": "m"}) as (things,):
                own.write(
                    things, "upsert", [f"{number}-{turn}"], documents=["x"], embeddings=[[1.0]]
                )
            assert held(own)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))
    assert held(opened()) == 30
