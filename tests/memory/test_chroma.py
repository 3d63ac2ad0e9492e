from __future__ import annotations

from pathlib import Path

import pytest

from citeproof.errors import StoreError
from citeproof.memory.chroma import Chroma, Record
from citeproof.settings import ChromaSettings

MEMORY = ChromaSettings(in_memory=True)


def records(count: int) -> list[Record]:
    return [Record(f"id{n}", f"text {n}", {"n": n}) for n in range(count)]


def test_records_come_back_in_the_order_asked_for() -> None:
    chroma = Chroma.open(MEMORY)
    collection = chroma.collection("things")
    collection.put(records(3))
    collection.put([Record("id1", "new", {"n": 9})])
    assert collection.get(["id2", "unknown", "id1", "id2"]) == [
        Record("id2", "text 2", {"n": 2}),
        Record("id1", "new", {"n": 9}),
    ]
    assert [record.id for record in collection.scan({"n": 0})] == ["id0"]
    collection.delete(["id0", "unknown"])
    assert collection.count() == 2
    chroma.close()


def test_more_records_than_one_batch_holds() -> None:
    chroma = Chroma.open(MEMORY)
    collection = chroma.collection("things")
    collection.put(records(2500))
    assert len({record.id for record in collection.scan()}) == 2500
    collection.delete([record.id for record in records(2400)])
    assert collection.count() == 100
    chroma.close()


def test_stores_in_memory_are_apart() -> None:
    one, two = Chroma.open(MEMORY), Chroma.open(MEMORY)
    one.collection("things").put(records(1))
    assert two.collection("things").count() == 0
    one.close()
    assert two.collection("things").count() == 0
    two.close()


def test_a_folder_keeps_what_is_put_there(tmp_path: Path) -> None:
    settings = ChromaSettings(path=tmp_path)
    chroma = Chroma.open(settings)
    chroma.collection("things", embedder="m").put(records(2), [[1.0, 0.0], [0.0, 1.0]])
    chroma.close()
    chroma = Chroma.open(settings)
    collection = chroma.collection("things")
    assert (collection.embedder, collection.dimension, collection.count()) == ("m", 2, 2)
    assert collection.nearest([[0.1, 0.9], [1.0, 0.2]], 5) == [["id1", "id0"], ["id0", "id1"]]
    chroma.drop("things")
    chroma.drop("things")
    assert chroma.collection("things").count() == 0
    chroma.close()


def test_nothing_is_near_in_an_empty_collection() -> None:
    chroma = Chroma.open(MEMORY)
    assert chroma.collection("things").nearest([[1.0, 2.0]], 3) == [[]]
    chroma.close()


def test_another_embedder_is_refused() -> None:
    chroma = Chroma.open(MEMORY)
    chroma.collection("things", embedder="small")
    with pytest.raises(StoreError, match=r"from small, and the settings say large.*--rebuild"):
        chroma.collection("things", embedder="large")
    chroma.close()


def test_another_dimension_is_refused() -> None:
    chroma = Chroma.open(MEMORY)
    collection = chroma.collection("things", embedder="m")
    collection.put(records(1), [[1.0, 0.0]])
    with pytest.raises(StoreError, match=r"have 2 numbers, and the model's 3.*--rebuild"):
        collection.put(records(1), [[1.0, 0.0, 0.0]])
    with pytest.raises(StoreError, match="--rebuild"):
        collection.nearest([[1.0]], 1)
    chroma.close()


@pytest.mark.parametrize("damage", [b"not a database" * 100, None])
def test_a_damaged_store_is_said_to_be_one(tmp_path: Path, damage: bytes | None) -> None:
    chroma = Chroma.open(ChromaSettings(path=tmp_path / "sound"))
    chroma.collection("things").put(records(3))
    chroma.close()
    file = tmp_path / "sound" / "chroma" / "chroma.sqlite3"
    broken = tmp_path / "broken"
    (broken / "chroma").mkdir(parents=True)
    (broken / "chroma" / file.name).write_bytes(damage or file.read_bytes()[:9000])
    with pytest.raises(StoreError, match=r"cannot be used: .*delete it"):
        Chroma.open(ChromaSettings(path=broken)).collection("things")


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "chroma").write_text("x")
    with pytest.raises(StoreError, match="cannot be used"):
        Chroma.open(ChromaSettings(path=tmp_path))


def test_a_server_that_does_not_answer() -> None:
    with pytest.raises(StoreError, match=r"at 127\.0\.0\.1:9 .*chroma run"):
        Chroma.open(ChromaSettings(host="127.0.0.1", port=9))
