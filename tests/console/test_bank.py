"""`citeproof bank`: what it shows, writes and deletes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from citeproof.memory.bank import Bank, Entry
from citeproof.settings import ChromaSettings
from tests.command import run
from tests.memory.fakes import WordEmbeddings, case

STORE = Path(".citeproof")


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[WordEmbeddings]:
    """A folder of its own, and the embedding models that commands have opened."""
    monkeypatch.chdir(tmp_path)
    loaded: list[WordEmbeddings] = []

    def load(*_: Any, **__: Any) -> WordEmbeddings:
        loaded.append(WordEmbeddings())
        return loaded[-1]

    monkeypatch.setattr("citeproof.models.embedder.load_embedder", load)
    return loaded


@pytest.fixture
def filled() -> list[str]:
    """Two cases in the default namespace, of which the first was used, and one in another."""
    bank = Bank.open(ChromaSettings(path=STORE), WordEmbeddings())

    async def fill() -> list[str]:
        tide = await bank.add(case("tide"))
        hill = await bank.add(case("[red]hill[/red]\x1b[31m", score=None, actions=()))
        other = await bank.within("other").add(case("sea", score=0.5))
        await bank.keep_rationale(f"{tide}-planning", "Because [1] says so.")
        await bank.best("planning", question="what is tide", passages=case("tide").passages)
        return [tide, hill, other]

    keys = asyncio.run(fill())
    bank.close()
    return keys


def held(namespace: str = "default") -> set[str]:
    bank = Bank.open(ChromaSettings(path=STORE), None, namespace=namespace)
    entries = asyncio.run(bank.cases())
    bank.close()
    return {entry.id for entry in entries}


def said(*arguments: str, code: int = 0, typed: str | None = None) -> str:
    done = run(["bank", *arguments], input=typed)
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["stats"], "cases 0"),
        (["export"], "0 cases"),
    ],
)
def test_an_empty_bank_is_said_to_be_one_and_none_is_made(
    command: list[str], expected: str
) -> None:
    assert expected in said(*command)
    assert not STORE.exists()


def test_stats(filled: list[str]) -> None:
    text = said("stats")
    assert "cases 3 default 2 other 1 rationales 1 of 9 mean score 0.75 (2 cases)" in text
    assert "vectors words" in text
    one = json.loads(run(["bank", "stats", "--namespace", "other", "--json"]).stdout)
    assert (one["namespaces"], one["cases"], one["mean_score"]) == ({"other": 1}, 1, 0.5)


def test_export_and_import(filled: list[str], models: list[WordEmbeddings]) -> None:
    assert said("export", "--all", "--out", "cases.jsonl") == "3 cases"
    assert models == []
    lines = Path("cases.jsonl").read_text("utf-8").splitlines()
    assert [Entry.model_validate_json(line).id for line in lines] == filled
    assert run(["bank", "export", "--all"]).stdout.splitlines() == lines
    assert len(run(["bank", "export"]).stdout.splitlines()) == 2
    table = said("import", "cases.jsonl", "--store", "new")
    assert "added 3 cases skipped 0 cases" in table
    there = run(["bank", "export", "--all", "--store", "new"]).stdout.splitlines()
    assert there == lines
    again = said("import", "-", "--store", "new", typed="\n".join(lines))
    assert "skipped 3 cases" in again
    assert models[-1].embedded == []
    moved = said("import", "cases.jsonl", "--store", "new", "--namespace", "third")
    assert "added 3 cases" in moved


def test_import_of_a_bad_file_makes_nothing() -> None:
    Path("bad.jsonl").write_text('{"namespace": "default"}\n')
    assert "bad.jsonl cannot be imported: line 1 is no case: case: Field required" in said(
        "import", "bad.jsonl", code=2
    )
    Path("empty.jsonl").write_text("\n")
    assert "empty.jsonl is empty" in said("import", "empty.jsonl", code=2)
    assert "The standard input holds no case" in said("import", "-", code=2, typed="\n")
    assert "missing.jsonl" in said("import", "missing.jsonl", code=2)
    assert not STORE.exists()


def test_a_rebuild_is_confirmed(filled: list[str]) -> None:
    said("export", "--out", "cases.jsonl")
    assert "Add --yes" in said("import", "cases.jsonl", "--rebuild", code=2)
    assert held("other") == {filled[2]}
    assert "added 2 cases" in said("import", "cases.jsonl", "--rebuild", "--yes")
    assert (held(), held("other")) == (set(filled[:2]), set())


def test_export_to_what_cannot_be_written_leaves_nothing(filled: list[str]) -> None:
    assert "cannot be written" in said("export", "--out", "no/such/file", code=2)
    Path("there").mkdir()
    assert "is not a plain file" in said("export", "--out", "there", code=2)
    assert list(Path("there").iterdir()) == []


@pytest.mark.parametrize(("typed", "left"), [("n\n", 1), ("y\n", 0)])
def test_whoever_sits_there_is_asked(
    filled: list[str], typed: str, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citeproof.console.bank._can_ask", lambda: True)
    said("export", "--out", "cases.jsonl")
    done = run(["bank", "import", "cases.jsonl", "--rebuild"], input=typed)
    assert "Delete 3 cases first? [y/N]" in done.output
    assert (len(held("other")), done.exit_code) == (left, left)


def test_a_bad_namespace_is_one_line(filled: list[str]) -> None:
    assert "cannot be a namespace" in said("export", "--namespace", "a b", code=2)
