"""`citeproof bank`: what it shows, writes and deletes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from citeproof import cli
from citeproof.memory.bank import Bank, Entry
from citeproof.settings import ChromaSettings
from tests.memory.fakes import WordEmbeddings
from tests.memory.test_bank import case

run = CliRunner().invoke
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
    done = run(cli.app, ["bank", *arguments], input=typed)
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["list"], "The memory bank holds no case here."),
        (["stats"], "cases 0"),
        (["export"], "0 cases"),
        (["prune", "--keep", "0", "--yes"], "0 cases deleted"),
    ],
)
def test_an_empty_bank_is_said_to_be_one_and_none_is_made(
    command: list[str], expected: str
) -> None:
    assert expected in said(*command)
    assert not STORE.exists()


def test_list_shows_the_newest_first(filled: list[str], models: list[WordEmbeddings]) -> None:
    tide, hill, other = filled
    table = said("list")
    assert table.index(hill) < table.index(tide)
    assert other not in table
    assert "1 1.00 1 of 3 what is tide" in table
    assert "0 – 0 of 3 what is [red]hill[/red][31m" in table
    assert other in said("list", "--namespace", "other")
    every = said("list", "--all", "--limit", "1")
    assert other in every
    assert "2 more; --limit shows them" in every
    assert models == []


def test_list_as_json(filled: list[str]) -> None:
    rows = json.loads(run(cli.app, ["bank", "list", "--json", "--all"]).stdout)
    assert [Entry.model_validate(row).id for row in rows] == filled[::-1]
    assert json.loads(run(cli.app, ["bank", "list", "--json", "--namespace", "no"]).stdout) == []


def test_json_is_utf_8_whatever_the_terminal_shows() -> None:
    bank = Bank.open(ChromaSettings(path=STORE), WordEmbeddings(), namespace="default")
    key = asyncio.run(bank.add(case("日本")))
    bank.close()
    narrow = CliRunner(charset="cp1252").invoke
    for arguments in (["list"], ["show", key]):
        done = narrow(cli.app, ["bank", *arguments, "--json"])
        assert "日本" in done.stdout_bytes.decode(), arguments


def test_show_tells_all_of_a_case(filled: list[str]) -> None:
    page = said("show", filled[0][:6])
    for part in (
        f"case {filled[0]}",
        "namespace default",
        "score 1.00",
        "uses 1 (planning 1, last 20",
        "vectors words",
        "question what is tide",
        "[1] untitled tide is here",
        "first answer tide it is [1].",
        "assessment tide is cited.",
        "actions 1. Say more of tide.",
        "final answer tide it surely is [1].",
        "why this planning Because [1] says so.",
    ):
        assert part in page
    assert "\x1b[31m" not in run(cli.app, ["bank", "show", filled[1]]).output
    assert "actions none" in said("show", filled[1])
    entry = Entry.model_validate_json(run(cli.app, ["bank", "show", filled[2], "--json"]).stdout)
    assert (entry.namespace, entry.case) == ("other", case("sea", score=0.5))


def test_show_of_what_is_not_there(filled: list[str]) -> None:
    assert "There is no case 'x' in the memory bank. Show them all" in said("show", "x", code=2)
    assert "There is no case ''" in said("show", "", code=2)


def test_an_id_that_is_too_short_is_refused() -> None:
    bank = Bank.open(ChromaSettings(path=STORE), WordEmbeddings())
    keys = [asyncio.run(bank.add(case(f"thing{n}"))) for n in range(17)]
    bank.close()
    first = next(key[0] for key in keys if sum(k[0] == key[0] for k in keys) > 1)
    assert f"cases have an id that begins with {first}" in said("show", first, code=2)


def test_stats(filled: list[str]) -> None:
    text = said("stats")
    assert "cases 3 default 2 other 1 rationales 1 of 9 uses 1 mean score 0.75 (2 cases)" in text
    assert "vectors words on disk" in text
    one = json.loads(run(cli.app, ["bank", "stats", "--namespace", "other", "--json"]).stdout)
    assert (one["namespaces"], one["cases"], one["mean_score"]) == ({"other": 1}, 1, 0.5)
    assert one["bytes"] > 0


def test_export_and_import(filled: list[str], models: list[WordEmbeddings]) -> None:
    assert said("export", "--all", "--out", "cases.jsonl") == "3 cases"
    assert models == []
    lines = Path("cases.jsonl").read_text("utf-8").splitlines()
    assert [Entry.model_validate_json(line).id for line in lines] == filled
    assert run(cli.app, ["bank", "export", "--all"]).stdout.splitlines() == lines
    assert len(run(cli.app, ["bank", "export"]).stdout.splitlines()) == 2
    table = said("import", "cases.jsonl", "--store", "new")
    assert "added 3 cases replaced 0 cases" in table
    there = run(cli.app, ["bank", "export", "--all", "--store", "new"]).stdout.splitlines()
    assert there == lines
    again = said("import", "-", "--store", "new", typed="\n".join(lines))
    assert "there already 3 cases" in again
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


def test_prune(filled: list[str]) -> None:
    tide, hill, other = filled
    dry = said("prune", "--keep", "1", "--by", "least-used", "--dry-run")
    assert hill in dry
    assert tide not in dry
    assert dry.endswith("1 case would be deleted")
    assert "nobody confirmed it. Add --yes" in said("prune", "--keep", "1", code=2)
    assert held() == {tide, hill}
    assert said("prune", "--keep", "1", "--by", "least-used", "--yes") == "1 case deleted"
    assert (held(), held("other")) == ({tide}, {other})
    assert "Cases cannot be pruned by 'size'" in said(
        "prune", "--keep", "1", "--by", "size", code=2
    )


def test_delete(filled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tide, hill, other = filled
    refused = said("delete", tide, code=2)
    assert tide in refused
    assert "Nothing was deleted" in refused
    assert "There is no case 'x'" in said("delete", tide, "x", "--yes", code=2)
    assert held() == {tide, hill}
    assert said("delete", tide[:8], tide, other, "--yes") == "2 cases deleted"
    assert (held(), held("other")) == ({hill}, set())


@pytest.mark.parametrize(("typed", "left"), [("n\n", 1), ("y\n", 0)])
def test_whoever_sits_there_is_asked(
    filled: list[str], typed: str, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citeproof.console.bank._asked", lambda: True)
    done = run(cli.app, ["bank", "delete", filled[2]], input=typed)
    assert "Delete 1 case? [y/N]" in done.output
    assert (len(held("other")), done.exit_code) == (left, left)


def test_a_bad_namespace_is_one_line(filled: list[str]) -> None:
    assert "cannot be a namespace" in said("list", "--namespace", "a b", code=2)
