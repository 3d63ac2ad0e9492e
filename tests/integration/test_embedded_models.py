"""The real embedded models; they are fetched into the user's cache when they are not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from citeproof.doctor import diagnose
from citeproof.errors import ModelError
from citeproof.models.embedder import LocalEmbeddings, load_embedder
from citeproof.models.merged import ENTAILMENT
from citeproof.models.server import LocalServer, close_servers, local_server
from citeproof.settings import EmbeddingSettings, LLMSettings, ModelSettings, Settings

pytestmark = pytest.mark.timeout(1200)


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    yield local_server(LLMSettings(), ModelSettings())
    close_servers()


@pytest.fixture(scope="module")
def embedder() -> LocalEmbeddings:
    return load_embedder(EmbeddingSettings(), ModelSettings())


def post(server: LocalServer, path: str, body: dict[str, object]) -> httpx.Response:
    headers = {"Authorization": f"Bearer {server.api_key}"}
    return httpx.post(server.base_url + path, json=body, headers=headers, timeout=600)


def test_it_answers_whoever_has_the_key(server: LocalServer) -> None:
    body: dict[str, object] = {
        "messages": [{"role": "user", "content": "What is the capital of France? One word."}],
        "max_tokens": 8,
        "temperature": 0,
    }
    reply = post(server, "/chat/completions", body)
    assert reply.status_code == 200
    assert "Paris" in reply.json()["choices"][0]["message"]["content"]
    assert reply.json()["model"] == "local"
    assert httpx.post(f"{server.base_url}/chat/completions", json=body).status_code == 401


def test_a_shared_beginning_is_read_once(server: LocalServer) -> None:
    shared = "The lighthouse was built of grey granite in three summers. " * 20

    def cached(task: str) -> int:
        body: dict[str, object] = {
            "messages": [{"role": "user", "content": shared + task}],
            "max_tokens": 1,
        }
        usage = post(server, "/chat/completions", body).json()["usage"]
        return int(usage["prompt_tokens_details"]["cached_tokens"])

    cached("Of what was it built?")
    assert cached("How long did it take?") > 200


def test_it_comes_back_after_close(server: LocalServer) -> None:
    before = server.base_url
    server.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(before.replace("/v1", "/health"))
    assert httpx.get(server.base_url.replace("/v1", "/health")).json() == {"status": "ok"}


def test_llama_cpp_refuses_a_broken_file_without_a_crash(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(range(200)))
    with pytest.raises(ModelError, match="cannot be loaded"):
        local_server(LLMSettings(path=broken), ModelSettings()).start()
    assert capfd.readouterr().err == ""


def test_close_in_meaning_is_close_in_space(
    embedder: LocalEmbeddings, capfd: pytest.CaptureFixture[str]
) -> None:
    texts = ["The cat sat on the mat.", "Interest rates rose in March.", ""]
    vectors = embedder.embed_documents(texts)
    query = embedder.embed_query("Where did the cat sit?")
    cosines = [sum(a * b for a, b in zip(query, vector, strict=True)) for vector in vectors]
    assert cosines[0] > 0.5 > cosines[1]
    assert [len(vector) for vector in vectors] == [384] * 3
    assert all(sum(x * x for x in vector) == pytest.approx(1.0) for vector in vectors)
    assert capfd.readouterr().err == ""


def test_the_doctor_measures_them(embedder: LocalEmbeddings, server: LocalServer) -> None:
    embedder.embed_query("so that it is there")
    ENTAILMENT.make_folder(Settings().models)
    speeds = [check for check in diagnose(Settings(), measure=True) if "speed" in check.name]
    assert [check.status for check in speeds] == ["ok", "ok", "ok"], speeds
