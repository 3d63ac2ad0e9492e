"""At a Chroma server: what plain clients see, what a search costs, and who waits for whom."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import chromadb
import httpx
import pytest

from citeproof.memory import locks
from citeproof.memory.bank import Bank, ImportReport
from citeproof.memory.evidence import EvidenceLog
from citeproof.memory.locks import server_lock
from citeproof.memory.opening import open_store
from citeproof.models.chroma_server import _answers
from citeproof.models.vllm import free_port
from citeproof.settings import ChromaSettings
from citeproof.tools.retrieval.embeddings import embedder_name
from tests.memory.conftest import Opener
from tests.memory.fakes import GaussianEmbeddings, best, case, search
from tests.memory.test_processes import all_are_found, all_rows_are_found, check
from tests.memory.worker import python, server, start

SECONDS = float(os.environ.get("STORE_SECONDS", "3"))


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    number = free_port()
    with server(tmp_path_factory.mktemp("server"), number):
        yield number


@pytest.fixture
def settings(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> ChromaSettings:
    """A collection for each test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    name = f"t{abs(hash(request.node.name)) % 10**9}"
    return ChromaSettings(host="127.0.0.1", port=port, collection=name)


@pytest.fixture
def embeddings() -> GaussianEmbeddings:
    return GaussianEmbeddings()


@pytest.fixture
def banks(settings: ChromaSettings) -> Iterator[list[Bank]]:
    """The same bank, opened twice as by two processes."""
    made = [Bank.open(settings, GaussianEmbeddings()) for _ in range(2)]
    yield made
    for bank in made:
        bank.close()


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Those that are sent from now on."""
    sent: list[str] = []
    real = httpx.Client.send

    def counted(self: httpx.Client, request: httpx.Request, **options: Any) -> httpx.Response:
        sent.append(request.url.path.rsplit("/", 1)[-1])
        return real(self, request, **options)

    monkeypatch.setattr(httpx.Client, "send", counted)
    return sent


async def test_a_plain_client_finds_the_right_records(
    settings: ChromaSettings, tmp_path: Path, opened: Opener, banks: list[Bank]
) -> None:
    (tmp_path / "sheep.txt").write_text("Forty sheep live on the hill.")
    (tmp_path / "boats.txt").write_text("Boats lie at the pier.")
    opened().update([tmp_path / "sheep.txt", tmp_path / "boats.txt"])
    keys = [await banks[0].add(case(topic)) for topic in ("tide", "hill")]
    with closing(EvidenceLog.open(settings, GaussianEmbeddings())) as log:
        await log.record("Where?", "On the hill.", [], "supported", "vtg")
    client = chromadb.HttpClient(host="127.0.0.1", port=settings.port)

    def query(name: str, text: str, **options: Any) -> Any:
        collection = client.get_collection(name, embedding_function=None)
        vector = GaussianEmbeddings().embed_query(text)
        return collection.query(query_embeddings=vector, n_results=1, **options)

    found = query(settings.collection, "sheep on the hill")
    assert found["documents"] == [["Forty sheep live on the hill."]]
    assert found["metadatas"][0][0]["document"] == str(tmp_path / "sheep.txt")
    found = query(f"{settings.collection}-bank", "What is hill?", where={"kind": "generation"})
    assert found["ids"] == [[f"{keys[1]}-generation"]]
    assert '"question":"what is hill"' in found["documents"][0][0]
    found = query(f"{settings.collection}-evidence.gaussian", "Where? On the hill.")
    assert found["metadatas"][0][0]["claim"] == "On the hill."


async def test_a_search_of_the_bank_is_one_request(banks: list[Bank], requests: list[str]) -> None:
    bank, other = banks
    for topic in ("tide", "hill"):
        await bank.add(case(topic))
    assert await best(other, case("tide"), "planning")
    requests.clear()
    for _ in range(3):
        assert (await best(other, case("tide"), "planning")).case == case("tide")
    assert requests == ["query"] * 3


def test_an_update_does_not_ask_once_for_each_document(
    settings: ChromaSettings, tmp_path: Path, requests: list[str], opened: Opener
) -> None:
    index, numbers = opened(), []
    index.add(["The first document creates the index."])
    for count in (3, 20):
        folder = tmp_path / str(count)
        folder.mkdir()
        numbers.append([0, 0, 0])
        for turn, kind in enumerate(("added", "updated", "removed")):
            for number in range(count):
                file = folder / f"{number}.txt"
                file.write_text(f"Sheep {number} {kind}.")
                if kind == "removed":
                    file.unlink()
            requests.clear()
            assert len(getattr(index.update([folder]), kind)) == count
            numbers[-1][turn] = len(requests)
    assert numbers[0] == numbers[1]


def test_words_of_a_server_are_read_once(
    settings: ChromaSettings, tmp_path: Path, requests: list[str], opened: Opener
) -> None:
    (tmp_path / "sheep.txt").write_text("Forty sheep live on the hill.")
    writer, reader = opened(), opened()
    writer.update([tmp_path / "sheep.txt"])
    assert len(search(reader, "sheep", 3, "bm25")) == 1
    requests.clear()
    assert len(reader.candidates(["hill"], 3, "bm25")[0]) == 1
    assert len(requests) == 2, "nothing but the two collections was looked up"
    (tmp_path / "boats.txt").write_text("Boats lie at the pier.")
    writer.update([tmp_path / "boats.txt"])
    query, boats = "boats at the pier", ["Boats lie at the pier."]
    assert search(reader, query, 1) == search(reader, query, 1, "bm25") == boats
    (tmp_path / "boats.txt").unlink()
    writer.update([tmp_path / "boats.txt"])
    assert search(reader, "boats", 1, "bm25") == []
    assert len(list((tmp_path / "cache").rglob("*.words"))) == 1


def test_a_machine_that_only_searches_keeps_the_words_of_one_index(
    settings: ChromaSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: Opener
) -> None:
    cache = tmp_path / "another machine"
    for number in range(3):
        writer = opened(rebuild=True)
        writer.add([f"Sheep {number}."])
        writer.close()
        with monkeypatch.context() as patched:
            patched.setenv("XDG_CACHE_HOME", str(cache))
            reader = opened()
            assert search(reader, "sheep", 3, "bm25") == [f"Sheep {number}."]
            reader.close()
        assert len(list(cache.rglob("*.words"))) == 1


async def test_a_bank_that_was_replaced_is_looked_up_again(banks: list[Bank]) -> None:
    bank, other = banks
    await bank.add(case("tide"))
    assert await best(other, case("tide"))
    lines = await bank.cases()
    await other.add(case("hill"))
    assert await bank.import_(lines, rebuild=True) == ImportReport(added=1)
    found = await best(other, case("tide"), rank=2)
    assert found.case == case("tide"), "the only one that is left"
    await other.add(case("sea"))
    assert await bank.count() == 2


async def test_a_case_that_is_added_during_a_rebuild_is_kept(
    banks: list[Bank], caplog: pytest.LogCaptureFixture
) -> None:
    bank, other = banks
    await bank.add(case("tide"))
    lines = await bank.cases()
    adding = threading.Thread(target=lambda: added.append(asyncio.run(other.add(case("sea")))))
    added: list[str] = []

    def begin(done: int, total: int) -> None:
        adding.start()
        time.sleep(1.5)
        assert added == [], "it waits"

    with caplog.at_level(logging.WARNING, "citeproof"):
        await bank.import_(lines, rebuild=True, progress=begin)
    adding.join()
    assert f"process {os.getpid()} on" in caplog.text
    assert "filling the memory bank" in caplog.text
    assert {entry.case for entry in await bank.cases()} == {case("tide"), case("sea")}


def test_two_writers_and_a_rebuild_do_no_harm_to_each_other(
    settings: ChromaSettings, tmp_path: Path, opened: Opener
) -> None:
    documents = tmp_path / "documents"
    for name in "VW":
        (documents / name).mkdir(parents=True)
    workers = [
        start("write_documents", settings, str(documents / name), SECONDS + 3) for name in "VW"
    ]
    workers.append(start("rebuild", settings, str(documents), SECONDS))
    for worker in workers:
        worker.end()
        assert worker.facts("ack")
    check(workers)
    names = workers[0].facts("ack") + workers[1].facts("ack")
    assert opened().count() == 60 * len(names)
    all_rows_are_found(settings, names)


def test_a_lock_that_was_abandoned_is_taken_away(
    settings: ChromaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, name = open_store(settings, "index"), f"{settings.collection}-turn"
    client = store._client
    dead = {**locks._describe_process("sleeping"), "host": "elsewhere", "token": "x"}
    client.create_collection(name, metadata=dead)
    began = time.monotonic()
    with monkeypatch.context() as patched:
        patched.setattr(locks, "_SILENCE", 0.5)
        with server_lock(client, name, "working"):
            assert time.monotonic() - began >= 0.5
            assert "working" in client.get_collection(name).metadata["about"]
    assert name not in store.list_names(name)
    # Of a process that lost its server while it held one.
    client.create_collection(name, metadata={**dead, **locks._describe_process("sleeping")})
    began = time.monotonic()
    with server_lock(client, name, "working"):
        assert time.monotonic() - began < locks._SILENCE / 2
    store.close()


HOLD = """
import sys, time, chromadb
from citeproof.memory.locks import server_lock
with server_lock(chromadb.HttpClient("127.0.0.1", int(sys.argv[1])), sys.argv[2], "working"):
    print("held", flush=True)
    time.sleep(float(sys.argv[3]))
    print(time.time())
"""


@pytest.mark.skipif(bool(os.system("unshare -p -f true 2> /dev/null")), reason="needs namespaces")
def test_containers_of_one_name_do_not_take_each_other_for_dead(settings: ChromaSettings) -> None:
    """Each program has the process id 1, as in containers that share the machine's network."""
    command = ["unshare", "-p", "-f", sys.executable, "-P", "-c", HOLD, str(settings.port)]
    name = f"{settings.collection}-turn"
    first = subprocess.Popen([*command, name, "2"], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert first.stdout.readline() == "held\n"
    second = subprocess.run([*command, name, "0"], capture_output=True, text=True, check=True)
    assert "has died" not in second.stderr
    assert float(first.communicate()[0]) < float(second.stdout.split()[1])


def test_threads_that_take_turns_do_not_take_each_other_for_dead(
    settings: ChromaSettings, caplog: pytest.LogCaptureFixture
) -> None:
    store, turn = open_store(settings, "index"), f"{settings.collection}-turn"
    held: list[int] = []

    def take(number: int) -> None:
        for _ in range(4):
            with server_lock(store._client, turn, "working"):
                held.append(number)
                time.sleep(0.01)
                assert held.pop() == number

    with caplog.at_level(logging.WARNING, "citeproof"), ThreadPoolExecutor(4) as threads:
        list(threads.map(take, range(4)))
    assert "has died" not in caplog.text
    store.close()


def test_an_index_that_another_process_is_just_making_is_empty(
    settings: ChromaSettings, opened: Opener
) -> None:
    host, port = str(settings.host), settings.port
    chromadb.HttpClient(host, port).create_collection(  # the first of two
        settings.collection,
        embedding_function=None,
        metadata={"embedder": embedder_name(GaussianEmbeddings())},
        configuration={"hnsw": {"space": "cosine"}},
    )
    index = opened()
    assert search(index, "tide", 3, "bm25") == []
    assert search(index, "tide", 3) == []
    assert index.count() == 0


async def test_what_was_acknowledged_outlives_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two writers and four readers, and the server killed once and started again."""
    seconds = 6 * SECONDS
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    port = free_port()
    settings = ChromaSettings(host="127.0.0.1", port=port)
    (tmp_path / "W").mkdir()
    with server(tmp_path / "data", port):
        workers = [
            start("write_cases", settings, "A", seconds),
            start("write_documents", settings, str(tmp_path / "W"), seconds),
            *(start("read_cases", settings, "-", seconds) for _ in range(2)),
            *(start("read_documents", settings, "W", seconds) for _ in range(2)),
        ]
        for worker in workers[:2]:
            worker.wait_for("ack", 2)
        time.sleep(seconds / 3)
    before = [len(worker.facts("ack")) for worker in workers]
    with server(tmp_path / "data", port):
        for worker in workers:
            worker.end()
            assert worker.lines[-1] == "done\n"
        check(workers)
        assert all(len(w.facts("ack")) > n for w, n in zip(workers[:2], before, strict=False))
        assert sum(len(worker.facts("read")) for worker in workers[2:]) > 4
        with closing(Bank.open(settings, GaussianEmbeddings())) as bank:
            await all_are_found(bank, workers[0].facts("ack"))
        all_rows_are_found(settings, workers[1].facts("ack"))


SERVED = """
import json, sys
from pathlib import Path
from citeproof.settings import ChromaSettings
from tests.memory.fakes import search
from tests.memory.worker import open_index

index = open_index(ChromaSettings(path=Path(sys.argv[1]), serve=True))
index.update([Path(file) for file in sys.argv[2:]])
print(search(index, "sheep on the hill", 1))
print(json.loads((Path(sys.argv[1]) / "served" / "server.json").read_text())["port"])
sys.stdin.read()
index.close()
"""


def test_processes_share_the_server_that_is_started_for_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "sheep.txt").write_text("Forty sheep live on the hill.")
    (tmp_path / "json.py").write_text("raise SystemExit(3)")  # a stranger's, which is not run

    def run(*files: Path) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return python(SERVED, tmp_path / "store", *files, cwd=tmp_path, stdin=pipe, stdout=pipe)

    def said(process: subprocess.Popen[str]) -> list[str]:
        assert process.stdout is not None
        return [process.stdout.readline(), process.stdout.readline()]

    first = run(tmp_path / "sheep.txt")
    told = said(first)
    assert told[0] == "['Forty sheep live on the hill.']\n"
    second = run()
    assert said(second) == told
    first.kill()
    first.communicate()
    third = run()
    assert said(third) == told

    def end_all(*processes: subprocess.Popen[str]) -> None:
        for process in processes:
            process.communicate("")
        end = time.monotonic() + 20
        while (tmp_path / "store" / "served" / "server.json").exists():
            assert time.monotonic() < end
            time.sleep(0.1)

    end_all(second, third)
    assert not _answers(int(told[1]))
    again = run()
    assert said(again)[0] == told[0]
    end_all(again)
    [words] = tmp_path.rglob("*.words")
    assert words.parent == tmp_path / "store/served/words", "not read anew for each server"
