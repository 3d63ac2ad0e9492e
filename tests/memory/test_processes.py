"""Several processes over one folder: readers and a writer, and what is left when one is killed."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from citeproof.errors import StoreError
from citeproof.memory import locks
from citeproof.memory.bank import KINDS, Bank
from citeproof.memory.evidence import EvidenceLog
from citeproof.memory.folder_store import FolderStore
from citeproof.memory.locks import FolderLock
from citeproof.memory.store import fetch
from citeproof.settings import ChromaSettings
from tests.memory.fakes import GaussianEmbeddings, best, case, search
from tests.memory.worker import Worker, open_index, python, start

SECONDS = float(os.environ.get("STORE_SECONDS", "3"))
"""How long the processes are at work; more finds more."""


def check(workers: list[Worker]) -> None:
    for worker in workers:
        assert worker.facts("error") == []
        assert "Traceback" not in "".join(worker.lines)


async def all_are_found(bank: Bank, topics: list[str]) -> None:
    """By search, and with their text."""
    held = {entry.case.passages[0].id: entry.case for entry in await bank.cases()}
    for topic in topics:
        assert held[topic] == case(topic)
        for kind in KINDS:
            assert (await best(bank, case(topic), kind)).case == case(topic)


def all_rows_are_found(settings: ChromaSettings, names: list[str]) -> None:
    """By both searches."""
    with closing(open_index(settings)) as index:
        for name in names:
            query = f"{name} row7 said."
            assert query in search(index, query, 3)
            assert query in search(index, query, 3, "bm25")


async def test_cases_and_evidence_outlive_a_writer_that_is_killed(
    settings: ChromaSettings,
) -> None:
    writers = [start("write_cases", settings, name, 600) for name in "AB"]
    writers.append(start("write_evidence", settings, "E", 600))
    reader = start("read_cases", settings, "-", 600)
    for worker in writers:
        worker.wait_for("ack", 2)
    reader.wait_for("read", 2)
    time.sleep(SECONDS / 2)
    writers[0].end(kill=True)
    reader.end(kill=True)
    before = len(writers[1].facts("ack"))
    writers[1].wait_for("ack", before + 3)
    for worker in writers[1:]:
        worker.end(kill=True)
    check([*writers, reader])
    with closing(Bank.open(settings, GaussianEmbeddings())) as bank:
        await all_are_found(bank, writers[0].facts("ack") + writers[1].facts("ack"))
    with closing(EvidenceLog.open(settings, GaussianEmbeddings())) as log:
        assert {e.claim for e in await log.recent(10_000)} >= set(writers[2].facts("ack"))


def test_an_index_outlives_its_writer_and_is_read_meanwhile(
    settings: ChromaSettings, tmp_path: Path
) -> None:
    (tmp_path / "W").mkdir()
    writer = start("write_documents", settings, str(tmp_path / "W"), 600)
    writer.wait_for("ack", 1)
    readers = [start("read_documents", settings, "W", 2 * SECONDS) for _ in range(2)]
    for reader in readers:
        reader.wait_for("read", 3)
    before = len(writer.facts("ack"))
    writer.wait_for("ack", before + 2)
    writer.end(kill=True)
    for reader in readers:
        reader.end()
        assert reader.lines[-1] == "done\n"
    check([writer, *readers])
    all_rows_are_found(settings, writer.facts("ack"))
    with closing(open_index(settings)) as index:
        report = index.update([tmp_path / "W"])
    rows = 60 * len(list((tmp_path / "W").glob("*.jsonl")))
    assert (report.errors, report.passages) == ((), rows)


TORN = """
import os, signal, sys
from pathlib import Path
from citeproof.memory.folder_store import FolderStore
from citeproof.memory.store import fetch

store = FolderStore(Path(sys.argv[1]), "")

def put(first, last):
    numbers = range(first, last)
    vectors = [[1.0, n / 100, n % 7] for n in numbers]
    with store.writing("a test", {"things": "m"}) as (things,):
        ids = [f"id{n}" for n in numbers]
        store.write(things, "upsert", ids, documents=["x"] * len(ids), embeddings=vectors)

first = int(sys.argv[3])
put(0, first)
with store.reading("a test", "things") as (things,):
    real = type(things).upsert

    def torn(*args, **kwargs):
        if sys.argv[2] == "whole":
            real(*args, **kwargs)
        else:
            for file in Path(sys.argv[1]).rglob("*.bin"):
                if "copies" not in file.parts:
                    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    type(things).upsert = torn
put(first, first + 200)
"""


@pytest.mark.parametrize("first", [900, 1900])
@pytest.mark.parametrize("state", ["torn", "whole"])
def test_vector_files_that_were_being_written_when_their_writer_died(
    tmp_path: Path, state: str, first: int
) -> None:
    assert python(TORN, tmp_path, state, first).wait() == -signal.SIGKILL
    assert list(tmp_path.glob("copies/*@*"))
    store = FolderStore(tmp_path, "")
    with store.reading("a test", "things") as (things,):
        ids = things.get(include=[])["ids"]
        assert set(ids) == {f"id{n}" for n in range(first + 200 if state == "whole" else first)}
        vectors = fetch(things, ids, "embeddings")
        assert vectors.keys() == set(ids)
        assert vectors["id50"][0].tolist() == pytest.approx([1.0, 0.5, 1.0])
        assert store.nearest(things, [[1.0, 0.5, 1.0]], 1)["ids"] == [["id50"]]
    assert not list(tmp_path.glob("copies/*@*"))
    with store.writing("a test", {"things": "m"}) as (things,):
        store.write(things, "upsert", ["more"], embeddings=[[1.0, 2.0, 3.0]])
        assert things.count() == len(ids) + 1
    store.close()


def test_a_long_lived_reader_sees_what_another_process_writes(
    settings: ChromaSettings, documents: Path
) -> None:
    reader = open_index(settings)
    assert reader.count() == 0
    for text, gone in (("Rams stand on the pier.", None), ("Boats lie there.", "Rams")):
        (documents / "new.txt").write_text(text)
        code = (
            "import sys; from tests.memory.worker import ChromaSettings, open_index;"
            "open_index(ChromaSettings(path=sys.argv[1])).update(sys.argv[2:])"
        )
        assert python(code, settings.path, documents).wait() == 0
        assert search(reader, text, 1) == search(reader, text, 1, "bm25") == [text]
        if gone:
            assert search(reader, gone, 3, "bm25") == []
    reader.close()


def test_the_one_who_waits_is_told_for_whom(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_QUIET", 0.1)
    monkeypatch.setattr(locks, "PATIENCE", 0.3)
    code = (
        "import sys, time; from pathlib import Path;"
        "from citeproof.memory.locks import FolderLock\n"
        "with FolderLock(Path(sys.argv[1]), 'store').hold('write', 'counting sheep'):\n"
        "    print('held', flush=True); time.sleep(600)"
    )
    holder = python(code, tmp_path, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    lock = FolderLock(tmp_path, "store")
    told = rf"process {holder.pid} on .*counting sheep since \d\d:\d\d:\d\d"
    with (
        caplog.at_level(logging.WARNING, "citeproof"),
        pytest.raises(StoreError, match=told),
        lock.hold("read", "x"),
    ):
        pass
    assert f"process {holder.pid}" in caplog.text
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with lock.hold("write", "x"):
        assert f"process {os.getpid()} on" in locks._describe(lock._read_notes("[0-9]*"))
    assert list((tmp_path / "store.holders").iterdir()) == []


def test_two_updates_take_turns(settings: ChromaSettings, tmp_path: Path) -> None:
    for name in "VW":
        (tmp_path / name).mkdir()
    workers = [start("write_documents", settings, str(tmp_path / name), SECONDS) for name in "VW"]
    for worker in workers:
        worker.end()
        assert len(worker.facts("ack")) > 1
    check(workers)
    with closing(open_index(settings)) as index:
        assert index.count() == sum(60 * len(worker.facts("ack")) for worker in workers)
