from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from citeproof import doctor
from citeproof.doctor import Check, diagnose, repair
from citeproof.models.manifest import LLM, MINILM, MPNET, EmbeddedModel
from citeproof.models.merged import ANSWERABILITY, ENTAILMENT, MergedModel
from citeproof.models.stamps import stamp
from citeproof.settings import (
    ChromaSettings,
    EmbeddingSettings,
    EntailmentSettings,
    LLMSettings,
    ModelSettings,
    RetrieverSettings,
    Settings,
)
from citeproof.tools.entailment.close_reader import name_close_reader
from tests.tools.model_stub import Reply, own_models, serve


def look(settings: Settings, *, measure: bool = False, **others: Any) -> dict[str, Check]:
    """What is found by name, with other settings in place of some of these."""
    own = settings.model_copy(update=others)
    return {check.name: check for check in diagnose(own, measure=measure)}


@pytest.fixture
def fresh(tmp_path: Path) -> Settings:
    return Settings(
        models=ModelSettings(cache=tmp_path / "cache"),
        chroma=ChromaSettings(path=tmp_path / "store"),
    )


def test_a_fresh_installation(fresh: Settings, tmp_path: Path) -> None:
    found = look(fresh, measure=True)
    assert found["Python"].status == found["langgraph"].status == found["CPU"].status == "ok"
    assert found["Language model"] == Check(
        "Language model",
        "warn",
        "qwen2.5-coder-1.5b-instruct-q4_k_m: not fetched yet",
        "Nothing: it is fetched when first used (1,117.3 MB).",
    )
    assert found["Chroma store"] == Check(
        "Chroma store",
        "warn",
        f"{tmp_path / 'store'} does not exist",
        "Run: citeproof index DOCUMENTS",
    )
    assert "Embedding speed" not in found
    assert list(tmp_path.iterdir()) == []


def test_offline_a_missing_model_is_missing(fresh: Settings) -> None:
    found = look(fresh, models=fresh.models.model_copy(update={"offline": True}))
    assert found["Embedding model"].status == "missing"
    assert "another machine" in found["Embedding model"].fix


def test_a_damaged_model(fresh: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "check", lambda *_: "corrupt")
    assert "damaged" in look(fresh)["Embedding model"].detail


@pytest.mark.parametrize("own", [ENTAILMENT, ANSWERABILITY], ids=lambda own: own.purpose)
def test_a_damaged_model_of_citeproofs_own(fresh: Settings, own: MergedModel) -> None:
    name = f"{own.purpose.capitalize()} model"
    folder = own.folder(fresh.models)
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"whole")
    stamp(folder)
    assert look(fresh)[name].status == "ok"
    (folder / "model.safetensors").write_bytes(b"other")
    found = look(fresh)[name]
    assert (found.status, found.detail) == ("warn", f"{folder} is damaged")
    assert "doctor --repair" in found.fix


def test_damaged_models_are_repaired_and_nothing_else(
    fresh: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[str] = []

    def fetch(model: EmbeddedModel, *_: Any, **__: Any) -> None:
        fetched.append(model.name)

    monkeypatch.setattr(doctor, "fetch", fetch)
    assert repair(fresh) == fetched == [], "what is missing is fetched when it is used"
    monkeypatch.setattr(doctor, "check", lambda _, files=None: "corrupt" if files else "missing")
    assert repair(fresh) == fetched == [LLM.name, MINILM.name, MPNET.name]
    own = fresh.model_copy(update={"embedding": EmbeddingSettings(model="org/embedder")})
    assert MINILM.name not in repair(own)


def test_a_damaged_index_is_told_and_what_to_run(fresh: Settings) -> None:
    file = fresh.chroma.path / "index" / "chroma.sqlite3"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"junk" * 5000)
    found = look(fresh)["Chroma store"]
    assert (found.status, "citeproof index --rebuild" in found.fix) == ("missing", True)
    assert repair(fresh) == []
    assert file.read_bytes() == b"junk" * 5000


def test_what_the_user_named(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "data").write_bytes(b"x" * 2_500_000)
    settings = Settings(
        llm=LLMSettings(path=tmp_path / "m.gguf"),
        embedding=EmbeddingSettings(model="org/embedder"),
        chroma=ChromaSettings(path=tmp_path / "store"),
    )
    found = look(settings)
    assert found["Language model"].detail.endswith("m.gguf, 0.0 MB, named by llm.path")
    assert found["Embedding model"].detail == "org/embedder, named by embedding.model"
    assert found["Chroma store"].detail == f"{tmp_path / 'store'}, 2.5 MB"
    (tmp_path / "m.gguf").write_bytes(b"text")
    assert look(settings)["Language model"].status == "missing"


def test_servers_are_named_without_their_secrets() -> None:
    settings = Settings(
        llm=LLMSettings(
            model="m",
            base_url="http://me:pass@127.0.0.1:9/v1?key=abc",
            api_key=SecretStr("sk-secret"),
        ),
        chroma=ChromaSettings(host="127.0.0.1", port=9),
    )
    found = look(settings)
    told = found["Language model"].detail
    assert told.startswith("m at http://127.0.0.1:9/v1: it cannot be reached: ")
    assert found["Chroma store"].detail.startswith("server 127.0.0.1:9: it cannot be reached: ")
    assert {found[name].status for name in ("Language model", "Chroma store")} == {"missing"}
    assert "secret" not in str(found)
    memory = ChromaSettings(in_memory=True)
    assert look(settings, chroma=memory)["Chroma store"].status == "ok"


def test_a_server_is_asked_for_its_models(fresh: Settings) -> None:
    def at(url: str, model: str) -> Check:
        return look(fresh, llm=LLMSettings(model=model, base_url=f"{url}/v1"))["Language model"]

    with serve(lambda *_: Reply({"data": [{"id": "qwen"}]})) as stub:
        assert at(stub.url, "qwen").status == "ok"
        other = at(stub.url, "llama")
    assert (other.status, other.detail.endswith("it has qwen")) == ("missing", True)


def test_a_retriever_of_ones_own_is_made(
    fresh: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "from citeproof.testing import ListRetriever\n\nmade = lambda: ListRetriever([])\n"
    (tmp_path / "search_of_mine.py").write_text(program)
    monkeypatch.syspath_prepend(tmp_path)

    def of(source: str) -> Check:
        return look(fresh, retriever=RetrieverSettings(source=source))["Retriever"]

    assert of("python:search_of_mine:made").status == "ok"
    assert of("python:search_of_mine:nothing").status == "missing"


def test_models_at_an_address_are_asked(fresh: Settings) -> None:
    name = name_close_reader(ENTAILMENT.name)
    entailment = own_models(lambda texts: {"entailment": 1.0})

    def answer(path: str, body: Any) -> Reply:
        if path == "/v1/embeddings":
            return Reply({"data": [{"index": 0, "embedding": [1.0, 0.0]}]})
        return entailment(path, body)

    def at(url: str) -> dict[str, Check]:
        embedding = EmbeddingSettings(base_url=f"{url}/v1")
        return look(fresh, entailment=EntailmentSettings(base_url=url), embedding=embedding)

    with serve(answer) as stub:
        found = at(stub.url)
    model, vectors = found["Entailment model"], found["Embedding model"]
    answers = found["Answerability model"]
    assert (model.status, vectors.status, answers.status) == ("ok", "ok", "ok")
    assert answers.detail.endswith(f"opposites, citeproof serve at {stub.url}")
    assert model.detail.startswith(f"{name}, citeproof serve at {stub.url}; a score of")
    assert vectors.detail == f"all-minilm-l6-v2 at {stub.url}/v1, 2 numbers each"
    found = at(stub.url)  # which is gone by now
    for name in ("Entailment model", "Embedding model", "Answerability model"):
        check = found[name]
        assert check.status == "missing"
        assert f"server at {stub.url}" in check.detail
        assert check.fix


def test_vllm_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(llm=LLMSettings(model="vllm:org/m"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    missing = look(settings)["Language model"]
    assert (missing.status, "citeproof[vllm]" in missing.fix) == ("missing", True)
    (tmp_path / "vllm").touch(0o755)
    found = look(settings)["Language model"]
    assert (found.status, found.detail) == ("ok", f"org/m on {tmp_path / 'vllm'}; not started")


def test_a_server_whose_model_is_not_named_is_told(fresh: Settings) -> None:
    unnamed = LLMSettings(base_url="http://127.0.0.1:9/v1")
    found = look(fresh, llm=unnamed)["Language model"]
    assert found.status == "missing"
    assert "yet llm.base_url is set" in found.detail
    found = look(fresh, roles={"judge": unnamed})["Language model of judge"]
    assert "yet llm.base_url is set" in found.detail
    assert LLM.name not in repair(fresh.model_copy(update={"llm": unnamed}))


def test_a_host_with_a_port_is_told_as_unreachable(fresh: Settings) -> None:
    found = look(fresh, chroma=ChromaSettings(host="localhost:8000"))["Chroma store"]
    assert (found.status, "it cannot be reached: Invalid port" in found.detail) == ("missing", True)


def test_a_torch_that_does_not_load_is_told(
    fresh: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(MetaPathFinder):
        def find_spec(self, name: str, *_: Any) -> None:
            if name == "torch":
                raise OSError("libcudart.so: cannot open shared object file")

    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    found = look(fresh)["GPU"]
    assert (found.status, "libcudart.so" in found.detail) == ("warn", True)


def test_packages_for_local_models_are_missing_only_where_one_is_used(
    fresh: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def installed(name: str) -> str:
        if name in ("xllamacpp", "torch"):
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(doctor, "version", installed)
    found = look(fresh)
    for name in ("xllamacpp", "torch"):
        fix = 'Run: pip install "citeproof[local]"'
        assert found[name] == Check(name, "missing", "not installed", fix)
    elsewhere: dict[str, Any] = {
        "llm": LLMSettings(model="openai:gpt-4o"),
        "entailment": EntailmentSettings(model="judge"),
        "retriever": RetrieverSettings(kind="bm25"),
    }
    found = look(fresh, **elsewhere)
    assert found["torch"] == Check("torch", "ok", "not installed; not needed")
    assert found["xllamacpp"].status == "ok"
    found = look(fresh, **elsewhere, roles={"judge": LLMSettings()})
    assert [found[name].status for name in ("xllamacpp", "torch")] == ["missing", "ok"]


def test_a_file_that_goes_while_the_store_is_measured_is_left_out(fresh: Settings) -> None:
    store = fresh.chroma.path
    store.mkdir()
    (store / "kept").write_bytes(b"x" * 1_500_000)
    (store / "gone").symlink_to("nowhere")
    assert look(fresh)["Chroma store"].detail == f"{store}, 1.5 MB"


def test_replaced_prompts_are_told(fresh: Settings, tmp_path: Path) -> None:
    assert "Prompts" not in look(fresh)
    folder = tmp_path / "own"

    def told() -> Check:
        return look(fresh, prompts=folder)["Prompts"]

    assert (told().status, "own does not exist" in told().detail) == ("missing", True)
    folder.mkdir()
    assert told().detail == f"{folder} replaces nothing: it holds no .md file"
    (folder / "system.md").write_text("Be brief.", encoding="utf-8")
    assert told() == Check("Prompts", "ok", f"{folder} replaces system")
    (folder / "judge.md").write_text("Is it so?", encoding="utf-8")
    found = told()
    assert (found.status, "judge.md" in found.detail) == ("missing", True)
    assert "no node uses the packaged one" in found.detail
