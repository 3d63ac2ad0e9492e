"""An index in PostgreSQL, on a real server that pgserver brings."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from citeproof.errors import InputError, RetrievalError, StoreError
from citeproof.memory.postgres import PostgresIndex
from citeproof.memory.searched import open_searched
from citeproof.settings import RetrieverSettings, Settings
from citeproof.types import Passage
from tests.memory.fakes import WordEmbeddings
from tests.server.serving import client, events, toolbox

PASSAGES = [Passage(id=f"p{n}", text=f"Sheep {n} lives on hill {n}.") for n in range(7)]


class Server:
    """PostgreSQL in a folder of its own."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs, self.folder = programs, folder
        self.user: dict[str, Any] = {}
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            os.chown(folder, 65534, 65534)
            self.user = {"user": 65534, "group": 65534, "extra_groups": []}
        self.url = f"postgresql://citeproof@/postgres?host={folder}"

    def do(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), "-D", str(self.folder / "data"), *arguments]
        with (self.folder.parent / f"{self.folder.name}.log").open("ab") as log:
            subprocess.run(
                command, cwd=self.folder, stdout=log, stderr=log, check=True, **self.user
            )

    def start(self) -> None:
        self.do("pg_ctl", "-w", "-o", f"-c listen_addresses= -k {self.folder}", "start")

    def kill(self) -> None:
        self.do("pg_ctl", "-m", "immediate", "stop")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    pgserver = pytest.importorskip("pgserver")
    programs = Path(pgserver.__file__).parent / "pginstall" / "bin"
    # Not in pytest's folder, which no other user may enter; and sockets need a short path.
    folder = Path(tempfile.mkdtemp(prefix="citeproof-"))
    made = Server(programs, folder)
    try:
        made.do("initdb", "-U", "citeproof", "-A", "trust", "-N")
        made.start()
        try:
            yield made
        finally:
            made.kill()
    finally:
        shutil.rmtree(folder)
        (folder.parent / f"{folder.name}.log").unlink()


def opened(server: Server, collection: str, kind: str = "fused", **options: Any) -> PostgresIndex:
    settings = RetrieverSettings.model_validate({"kind": kind})
    embeddings = options.pop("embeddings", None) or WordEmbeddings()
    return PostgresIndex(server.url, settings, embeddings, collection=collection, **options)


@pytest.fixture
def collection() -> str:
    return f"t{uuid4().hex[:12]}"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    (tmp_path / "tides.md").write_text("# Tides\n\nHigh water is at noon.\n")
    (tmp_path / "sheep.txt").write_text("Forty sheep live on the hill.")
    return tmp_path


async def test_files_are_indexed_and_found(
    server: Server, collection: str, documents: Path
) -> None:
    index = opened(server, collection)
    assert len(index.update([documents]).added) == 2
    found = await index.retrieve("When is high water?", 2)
    assert found[0].text == "High water is at noon."
    assert (found[0].title, found[0].source) == ("Tides", str(documents / "tides.md"))
    assert await index.retrieve(" ", 2) == []
    (documents / "tides.md").unlink()
    (documents / "sheep.txt").write_text("Fifty sheep live on the hill.")
    report = index.update([documents])
    assert (len(report.updated), len(report.removed), report.passages) == (1, 1, 1)
    assert index.update([documents]).unchanged == (str(documents / "sheep.txt"),)
    assert [one.text for one in await index.retrieve("sheep", 5)] == [
        "Fifty sheep live on the hill."
    ]
    [held] = index.documents()
    assert (held.document, held.passages) == (str(documents / "sheep.txt"), 1)
    assert index.remove([documents]) == [held.document]
    assert index.count() == 0
    index.close()


@pytest.mark.parametrize(
    ("kind", "query", "first"),
    [
        ("bm25", "hill 4", "p4"),
        ("dense", "Sheep 5 lives on hill 5.", "p5"),
        ("fused", "Sheep 6 lives on hill 6.", "p6"),
    ],
)
async def test_both_searches_find_passages_with_ready_vectors(
    server: Server, collection: str, kind: str, query: str, first: str
) -> None:
    index = opened(server, collection, kind)
    vectors = WordEmbeddings().embed_documents([one.text for one in PASSAGES])
    index.add(PASSAGES, np.asarray(vectors, "f2"))
    found = await index.retrieve(query, 3)
    assert found[0] == PASSAGES[int(first[1])]
    assert len(found) == 3
    index.add(PASSAGES[:2], vectors[:2])
    assert index.count() == 2
    with pytest.raises(InputError, match="32 numbers, and not 64"):
        index.add(PASSAGES, np.ones((7, 32), "f4"))
    index.close()


async def test_a_killed_server_is_told_and_found_again(server: Server, collection: str) -> None:
    index = opened(server, collection)
    index.add(PASSAGES)
    assert await index.retrieve("hill 4", 1)
    server.kill()
    try:
        with pytest.raises(RetrievalError, match="does not answer"):
            await index.retrieve("hill 4", 1)
        with pytest.raises(StoreError, match="does not answer"):
            index.add([Passage(id="new", text="Goats.")], name="more")
    finally:
        server.start()
    assert await index.retrieve("hill 4", 1)
    index.add([Passage(id="new", text="Goats.")], name="more")
    assert index.count() == 8
    index.close()


async def test_another_model_or_no_index_is_told(server: Server, collection: str) -> None:
    index = opened(server, collection)
    with pytest.raises(RetrievalError, match="There is no index"):
        await index.retrieve("hill", 1)
    index.add(PASSAGES)
    index.close()
    told = "from words, and the settings say others"
    other = opened(server, collection, embeddings=WordEmbeddings("others"))
    with pytest.raises(StoreError, match=told):
        other.add(PASSAGES)
    with pytest.raises(RetrievalError, match=told):
        await other.retrieve("hill", 1)
    other.close()
    by_words = opened(server, collection, "bm25", embeddings=WordEmbeddings("others"))
    assert await by_words.retrieve("hill 4", 1) == [PASSAGES[4]]
    by_words.close()


async def test_passages_are_read_by_id_and_by_document(
    server: Server, collection: str, documents: Path
) -> None:
    index = opened(server, collection)
    assert (index.get(["p1"]), index.document("p"), index.documents()) == ([], [], [])
    assert index.count() == 0
    index.update([documents])
    index.add([one.model_copy(update={"source": "a list"}) for one in PASSAGES])
    assert [one.id for one in index.get(["p3", "none", "p1"])] == ["p3", "p1"]
    [sheep] = index.document(str(documents / "sheep.txt"))
    assert sheep.text == "Forty sheep live on the hill."
    assert len(index.document("a list")) == 7
    index.close()


async def test_a_server_over_it_lists_adds_and_removes_documents(
    server: Server, collection: str, tmp_path: Path
) -> None:
    index = opened(server, collection)
    async with client(tmp_path / "store", toolbox(index=index)) as http:
        assert (await http.get("/api/documents")).json() == {"documents": []}
        sent = await http.post(
            "/api/documents",
            files=[("files", ("tower.md", b"Ann Lee built the tower."))],
            headers={"x-citeproof": "upload"},
        )
        assert events(sent.text)[-1][1]["added"] == ["tower.md"]
        [held] = (await http.get("/api/documents")).json()["documents"]
        assert (await http.get(held["file"])).text == "Ann Lee built the tower."
        assert [one.text for one in await index.retrieve("tower", 1)] == [
            "Ann Lee built the tower."
        ]
        assert (await http.delete(f"/api/documents/{held['id']}")).is_success
        assert (await http.get("/api/documents")).json() == {"documents": []}
    assert index.count() == 0
    index.close()


async def test_settings_open_it(server: Server, collection: str) -> None:
    settings = Settings.load(
        **{"retriever": server.url, "chroma.collection": collection, "retriever.kind": "dense"}
    )
    index = open_searched(settings, WordEmbeddings())
    assert isinstance(index, PostgresIndex)
    index.add(PASSAGES)
    assert (await index.retriever().retrieve("Sheep 5 lives on hill 5.", 1))[0].id == "p5"
    index.close()
