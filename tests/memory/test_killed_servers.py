"""Each real server is killed in the middle of an update and of a question, and started again."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from citeproof import Toolbox, build_vtg
from citeproof.errors import RetrievalError, StoreError
from citeproof.memory.index import Index, Step
from citeproof.memory.postgres import PostgresPassages
from citeproof.models.vllm import free_port
from citeproof.settings import ChromaSettings, EntailmentSettings, RetrieverSettings
from citeproof.testing import ScriptedChatModel
from citeproof.tools.entailment.opening import open_entailment
from tests.memory.fakes import GaussianEmbeddings, search
from tests.memory.worker import open_index, python
from tests.memory.worker import server as chroma
from tests.postgres import Server
from tests.server.serving import ANSWER, QUESTION, reply, toolbox


class Killing(GaussianEmbeddings):
    """Embeds, but something happens first, once."""

    def __init__(self) -> None:
        self.before: Callable[[], object] | None = None

    def embed_query(self, text: str) -> list[float]:
        before, self.before = self.before, None
        if before is not None:
            before()
        return super().embed_query(text)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Two documents of 70 passages each, so that they are stored one after the other."""
    folder = tmp_path / "documents"
    folder.mkdir()
    for name, text in (("a", "Ann Lee built the tower."), ("b", "The tower was lit in 1871.")):
        rows = [{"id": f"{name}{n}", "text": f"Row {n}." if n else text} for n in range(70)]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def killing_at(document: str, kill: Callable[[], object]) -> Callable[[Step], None]:
    """What kills a server once a document is stored."""

    def told(step: Step) -> None:
        if step.state == "done" and step.document.endswith(document):
            kill()

    return told


async def test_chroma_is_killed_and_gone_on_with(
    tmp_path: Path, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    port, embeddings = free_port(), Killing()
    gone = rf"The Chroma server at 127\.0\.0\.1:{port} does not answer.*Start it"
    with chroma(tmp_path / "data", port) as process:
        settings = ChromaSettings(host="127.0.0.1", port=port)
        index = Index.open(settings, RetrieverSettings(), embeddings)
        with pytest.raises(StoreError, match=gone):
            index.update([documents], progress=killing_at("a.jsonl", process.kill))
    graph = build_vtg(toolbox(index=index))
    with chroma(tmp_path / "data", port) as process:
        report = index.update([documents])
        assert [Path(name).name for name in report.unchanged] == ["a.jsonl"]
        assert (len(report.added), report.passages) == (1, 140)
        embeddings.before = process.kill
        with pytest.raises((RetrievalError, StoreError), match=gone):
            await graph.ainvoke({"question": QUESTION})
    with chroma(tmp_path / "data", port):
        answer = (await graph.ainvoke({"question": QUESTION}))["answer"]
        assert answer.text == ANSWER
        index.close()


def test_chroma_is_restored_from_a_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    port = free_port()
    settings = ChromaSettings(host="127.0.0.1", port=port)
    with chroma(tmp_path / "data", port), closing(open_index(settings)) as index:
        index.add(["Sheep on the hill."], ids=["a"])
    shutil.copytree(tmp_path / "data", tmp_path / "backup")
    with chroma(tmp_path / "data", port), closing(open_index(settings)) as index:
        index.add(["Goats on the hill."], ids=["b"])
        index.remove(["a"])
    shutil.rmtree(tmp_path / "data")
    (tmp_path / "backup").rename(tmp_path / "data")
    with chroma(tmp_path / "data", port), closing(open_index(settings)) as index:
        assert search(index, "on the hill", 3, "bm25") == ["Sheep on the hill."]


async def test_postgres_is_killed_and_gone_on_with(
    server: Server, collection: str, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citeproof.memory.postgres._PATIENCE", 1.0)
    embeddings, gone = Killing(), "The PostgreSQL server of .* does not answer"
    place = PostgresPassages(server.url, embeddings, collection)
    index = Index(place, RetrieverSettings(), embeddings)
    try:
        with pytest.raises(StoreError, match=gone):
            index.update([documents], progress=killing_at("a.jsonl", server.kill))
    finally:
        server.start()
    report = index.update([documents])
    assert [Path(name).name for name in report.unchanged] == ["a.jsonl"]
    assert (len(report.added), report.passages) == (1, 140)
    graph = build_vtg(toolbox(index=index))
    embeddings.before = server.kill
    try:
        with pytest.raises(RetrievalError, match=gone):
            await graph.ainvoke({"question": QUESTION})
    finally:
        server.start()
    answer = (await graph.ainvoke({"question": QUESTION}))["answer"]
    assert answer.text == ANSWER
    index.close()


SERVING = """
import os, signal, sys
from pathlib import Path
import uvicorn
from citeproof.server.app import create_app
from citeproof.testing import TableEntailment
from citeproof.tools.entailment.cache import CachedEntailment
from tests.server.serving import toolbox

def score(premise, claim):
    if Path(sys.argv[1], "killed").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return 0.9 if claim in premise else 0.1

tools = toolbox()
tools.entailment = CachedEntailment(TableEntailment(score))
app = create_app(lambda progress: tools, Path(sys.argv[1]), llm="scripted")
uvicorn.run(app, port=int(sys.argv[2]), log_config=None)
"""


@contextmanager
def serving(folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """`citeproof serve` in a process, which is killed by a pair once the folder has `killed`."""
    with python(SERVING, folder, port) as process:
        try:
            while True:
                assert process.poll() is None
                try:
                    if httpx.get(f"http://127.0.0.1:{port}/info").is_success:
                        break
                except httpx.TransportError:
                    time.sleep(0.05)
            yield process
        finally:
            process.kill()


async def test_citeproof_serve_is_killed_while_it_verifies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citeproof.tools.model_server._BACKOFF", 0.01)
    port = free_port()
    with serving(tmp_path, port) as process:
        address = EntailmentSettings(base_url=f"http://127.0.0.1:{port}", model="table", retries=1)
        tools = Toolbox(
            ScriptedChatModel(reply),
            retriever=toolbox().retriever,
            entailment=open_entailment(address, lambda: pytest.fail("no model is asked")),
        )
        graph = build_vtg(tools)
        (tmp_path / "killed").touch()
        answer = (await graph.ainvoke({"question": QUESTION}))["answer"]
        assert process.wait(10) == -9
    assert {claim.verdict.status for claim in answer.claims} == {"unchecked"}
    assert answer.status == "partial"
    assert f"The entailment server at http://127.0.0.1:{port}" in " ".join(answer.notes)
    (tmp_path / "killed").unlink()
    with serving(tmp_path, port):
        answer = (await graph.ainvoke({"question": QUESTION}))["answer"]
    assert (answer.text, answer.status) == (ANSWER, "answered")
    assert {claim.verdict.status for claim in answer.claims} == {"supported"}
