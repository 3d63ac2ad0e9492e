from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from citeproof import Settings, Toolbox, build_vtg
from citeproof.evaluation import manifest
from citeproof.evaluation.manifest import (
    Data,
    Manifest,
    begin_sitting,
    describe_changes,
    describe_models,
    find_changes,
    find_commit,
    hash_file,
    hash_prompts,
    read_manifest,
)
from citeproof.evaluation.runner import describe
from citeproof.models.manifest import LLM, MINILM, MPNET
from citeproof.settings import EmbeddingSettings, EntailmentSettings
from citeproof.testing import TableEntailment
from citeproof.tools.entailment.opening import open_entailment
from citeproof.tools.retrieval.remote_embeddings import RemoteEmbeddings
from tests.evaluation.scripted import examples, toolbox
from tests.tools.model_stub import serve, tei


def made(folder: Path, **known: object) -> Manifest:
    graph = build_vtg(toolbox(), max_claims=1)
    return describe(graph, "vtg", examples(folder, 2), **known)


def test_a_manifest_tells_parameters_prompts_and_data(tmp_path: Path) -> None:
    own = made(tmp_path, name="numbers.jsonl", sha256="f00", limit=2, seed=7)
    assert (own.parameters["max_claims"], own.parameters["max_trials"]) == (1, 0)
    assert own.data.model_dump(exclude={"chosen"}) == {
        "name": "numbers.jsonl",
        "sha256": "f00",
        "limit": 2,
        "seed": 7,
        "corpus": "documents",
        "examples": 2,
    }
    own.write(tmp_path)
    assert read_manifest(tmp_path) == own
    assert read_manifest(tmp_path / "nowhere") is None
    written = "".join(f"{example.model_dump_json()}\n" for example in examples(tmp_path, 2))
    assert own.data.chosen == hashlib.sha256(written.encode()).hexdigest()


def test_every_prompt_is_hashed() -> None:
    folder = Path(manifest.__file__).parents[1] / "prompts"
    found = hash_prompts()
    assert {"system.md", "claim_generator.md"} <= found.keys()
    for path in folder.rglob("*.md"):
        expected = hashlib.sha256(path.read_bytes()).hexdigest()
        assert found[path.relative_to(folder).as_posix()] == expected
    assert hash_file(folder / "none.md") == ""


def test_embedded_models_are_told_with_their_hashes() -> None:
    settings = Settings.load(**{"roles.judge.model": "openai:gpt-4o"})
    found = describe_models(toolbox(), settings)
    largest = {model.name: max(model.files, key=lambda f: f.size) for model in (LLM, MINILM, MPNET)}
    assert found["llm"] == {"name": LLM.name, "sha256": largest[LLM.name].sha256}
    assert found["judge"] == {"name": "ScriptedChatModel"}
    assert found["embedding"]["sha256"] == largest[MINILM.name].sha256
    assert found["entailment"] == {
        "name": "table",
        "threshold": 0.5,
        "base": MPNET.name,
        "base_sha256": largest[MPNET.name].sha256,
    }
    other = Settings.load(
        **{"llm.model": "m", "llm.base_url": "http://localhost/v1", "entailment.model": "judge"}
    )
    tools = toolbox()
    assert "answerability" not in describe_models(tools, other)
    tools.answerability = TableEntailment({}, threshold=0.4, name="answers")
    found = describe_models(tools, other)
    assert found["answerability"] == {"name": "answers", "threshold": 0.4}
    assert found["llm"] == {"name": "ScriptedChatModel"}
    assert found["entailment"] == {"name": "table", "threshold": 0.5}


def test_models_at_an_address_are_told_by_name() -> None:
    answers = tei("org/nli", lambda texts: {"entailment": 1.0}, more={"citeproof": "1"})
    with serve(answers) as stub:
        entailment = EntailmentSettings(model="org/nli", base_url=stub.url)
        embedding = EmbeddingSettings(model="org/vectors", base_url=f"{stub.url}/v1")
        settings = Settings(entailment=entailment, embedding=embedding)
        llm = toolbox().llm
        tools = Toolbox(llm, entailment=open_entailment(entailment, lambda: llm))
        tools.embeddings = RemoteEmbeddings(embedding)
        found = describe_models(tools, settings)
    place = f"citeproof serve at {stub.url}"
    assert found["entailment"] == {"name": "org/nli", "threshold": 0.5, "at": place}
    assert found["embedding"] == {"name": "org/vectors", "at": f"{stub.url}/v1"}


def test_differences_name_what_matters_and_nothing_else(tmp_path: Path) -> None:
    here = {
        "llm": {"model": "a", "timeout": 1.0},
        "models": {"cache": "x"},
        "chroma": {"path": "s"},
    }
    there = {"llm": {"model": "b", "timeout": 2.0}, "models": {"cache": "y"}, "chroma": {}}
    one, other = made(tmp_path, settings=there), made(tmp_path, settings=here)
    assert describe_changes(one, other) == [
        "settings.llm.model (b there, a here)",
        "settings.chroma.path (nothing there, s here)",
    ]
    changed = one.model_copy(update={"prompts": {**one.prompts, "system.md": "0" * 64}})
    [told] = describe_changes(one, changed)
    assert told.startswith("prompts.system.md (")
    assert told.endswith("… there, 000000000000… here)")
    assert describe_changes(one, one.model_copy(update={"sittings": (begin_sitting(1),)})) == []


@pytest.mark.parametrize(("sha256", "differ"), [("5ha", []), ("", ["data.name"])])
def test_a_file_is_the_same_wherever_it_lies(sha256: str, differ: list[str]) -> None:
    names = ("set.jsonl", "/home/ann/set.jsonl") if sha256 else ("hf:nq", "hf:squad")
    one, other = (
        Manifest(
            method="m",
            parameters={},
            prompts={},
            data=Data(name=name, sha256=sha256, examples=1, chosen="c"),
        )
        for name in names
    )
    assert [*find_changes(one, other)] == differ


def test_a_sitting_tells_versions_and_the_commit_of_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = begin_sitting(3)
    assert (now.at_once, now.finished) == (3, None)
    assert {"citeproof", "langgraph", "pydantic"} <= now.packages.keys()

    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        command = ["git", "-C", str(tmp_path), *identity, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    source = tmp_path / "package"
    source.mkdir()
    (source / "__init__.py").write_text("")
    assert find_commit(source) == ""
    git("init", "-q")
    assert find_commit(source) == ""  # in someone's checkout, but not part of it
    git("add", "package/__init__.py")
    git("commit", "-q", "-m", "a")
    assert find_commit(source) == git("rev-parse", "HEAD")
    (source / "__init__.py").write_text("1")
    assert find_commit(source) == git("rev-parse", "HEAD") + "+"
    monkeypatch.setenv("PATH", "")
    assert find_commit(source) == ""  # without git
