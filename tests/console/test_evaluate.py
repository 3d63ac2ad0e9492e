from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from rich.console import Console

from citeproof import Toolbox
from citeproof.console import evaluate
from citeproof.evaluation.corpus import choose_gold
from citeproof.evaluation.examples import Example
from citeproof.evaluation.manifest import Data, Manifest, Totals, require_manifest
from citeproof.evaluation.results import Failure, Result, read_lines, read_results
from citeproof.evaluation.scorecard import Scorecard
from citeproof.settings import Settings
from citeproof.testing import ListRetriever
from tests.command import run as invoke
from tests.evaluation.scripted import examples, judge, reply, rows, toolbox, write

LISTED = {"answers": [["Rome"], ["Oslo"]]}


@pytest.fixture(autouse=True)
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """A folder with questions, and scripted tools; the settings they were opened with."""
    seen: list[Settings] = []

    def tools(settings: Settings, **_: Any) -> Toolbox:
        seen.append(settings)
        return toolbox()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Toolbox, "from_settings", tools)
    write(tmp_path / "numbers.jsonl", 6)
    return seen


def run(*arguments: str, code: int | None = None) -> Any:
    return invoke(["eval", "--set", "max_claims=1", *arguments], code)


def manifest(folder: str = "run") -> Manifest:
    return require_manifest(Path(folder))


def test_a_run_is_made_told_line_by_line_and_summed_up() -> None:
    result = run("--data", "numbers.jsonl", "--out", "run", "--limit", "4", "--seed", "3", code=0)
    lines = [" ".join(line.split()) for line in result.stderr.splitlines()]
    assert lines[0].startswith("1/4 · q")
    assert " · answered · " in lines[0]
    assert {"answered 4", "errors 0", "EM recall 1.000", "LLM calls 8", "Run: run"} <= set(lines)
    assert result.stdout == ""
    made = manifest()
    assert (made.data.name, made.data.limit, made.data.seed) == ("numbers.jsonl", 4, 3)
    assert len(made.data.sha256) == 64
    assert made.settings["llm"]["model"] == "local"
    assert made.sittings[0].at_once == 1  # the embedded model writes one by one
    assert made.models["entailment"]["name"] == "table"


def test_answers_that_come_together_are_counted_one_by_one(tmp_path: Path) -> None:
    screen = io.StringIO()
    console = Console(file=screen, width=120)

    async def take() -> None:
        with evaluate._Watched(console, tmp_path, 4) as watched:
            results = [Result(id=own.id, question="?", output="red") for own in asked]
            pairs = zip(asked, results, strict=True)
            await asyncio.gather(*(watched.take(own, result, False) for own, result in pairs))

    asked = examples(tmp_path, 4)
    asyncio.run(take())
    lines = screen.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["1/4", "2/4", "3/4", "4/4"]


async def test_each_answer_is_read_once_for_the_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 10,000 answers, reading all earlier ones after each takes hours."""
    reads = []

    class Row(dict[str, float | None]):
        def get(self, key: str, default: Any = None) -> Any:
            reads.append(key)
            return super().get(key, default)

    async def score(*_: Any) -> list[Row]:
        return [Row(hit=1.0, length=float(len(reads)))]

    monkeypatch.setattr(evaluate, "score", score)
    screen = io.StringIO()
    with evaluate._Watched(Console(file=screen, width=120), tmp_path, 9) as watched:
        for own in examples(tmp_path, 9):
            await watched.take(own, Result(id=own.id, question="?"), True)
    assert len(reads) <= 9
    assert watched._means["hit"] == 1


def test_other_models_than_the_embedded_one_answer_several_at_once(opened: list[Settings]) -> None:
    served = ["--set", "llm.base_url=http://localhost/v1", "--set", "llm.model=m"]
    run("--data", "numbers.jsonl", "--out", "a", *served)
    run("--data", "numbers.jsonl", "--out", "b", *served, "--set", "roles.judge.model=local")
    run("--data", "numbers.jsonl", "--out", "c", *served, "--at-once", "3")
    assert [manifest(name).sittings[0].at_once for name in "abc"] == [8, 1, 3]
    assert opened[0].llm.model == "m"


def test_an_error_is_told_and_makes_the_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    def script(prompt: str) -> Any:
        return ValueError("no [red]answer") if "number 2?" in prompt else reply(prompt)

    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: toolbox(script))
    result = run("--data", "numbers.jsonl", "--out", "run", code=1)
    assert "· q2 · ModelError: " in result.stderr
    assert "no [red]answer" in result.stderr
    assert "errors            1" in result.stderr
    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: toolbox())
    result = run("--data", "numbers.jsonl", "--out", "run", "--resume", code=0)
    assert result.stderr.count(" · answered · ") == 1
    assert "EM recall         1.000" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "There is nothing to ask. Name a file of questions with --data."),
        (["--data", "none.jsonl"], "none.jsonl"),
        (["--data", "numbers.jsonl", "--method", "x"], "There is no method 'x'. "),
        (["--data", "numbers.jsonl", "--set", "trials=1"], "Unknown parameter trials. "),
        (["--data", "numbers.jsonl", "--set", "llm.modle=x"], "There is no setting llm.modle"),
        (["--sweep", "none.toml"], "none.toml cannot be read: No such file or directory."),
    ],
)
def test_what_cannot_be_run_is_told_before_anything_is_opened_or_written(
    opened: list[Settings], arguments: list[str], message: str
) -> None:
    assert message in run("--out", "run", *arguments, code=2).stderr
    assert opened == []
    assert not Path("run").exists()


@pytest.fixture
def unindexed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that holds nothing."""
    box = toolbox(lambda prompt: reply(prompt) if "<passage" in prompt else "Rome, Oslo")
    box.index = Mock(count=lambda: 0)
    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: box)


@pytest.mark.usefixtures("unindexed")
def test_questions_without_documents_need_an_index() -> None:
    bare = [{**row, "docs": []} if n == 1 else row for n, row in enumerate(rows(2))]
    Path("bare.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in bare), "utf-8")
    result = run("--data", "bare.jsonl", "--out", "run", code=2)
    assert "There is nothing to answer 'q1' from: it brings no documents, and" in result.stderr
    assert not Path("run").exists()
    run("--data", "numbers.jsonl", "--out", "run", code=0)


def ask_closed_book(asked: list[dict[str, Any]], *more: str) -> Any:
    lines = (json.dumps({"question": "Which?", **row}) for row in asked)
    Path("asked.jsonl").write_text("\n".join(lines), "utf-8")
    return invoke(
        ["eval", "--data", "asked.jsonl", "--method", "closedbook", "--out", "run", *more]
    )


def test_a_closed_book_is_given_no_gold_documents(opened: list[Settings]) -> None:
    refused = ask_closed_book([{}], "--gold")
    assert refused.exit_code == 2
    assert "closedbook cannot be given gold documents" in refused.stderr
    assert opened == []


@pytest.mark.usefixtures("unindexed")
def test_a_closed_book_needs_no_index_unless_it_cites() -> None:
    refused = ask_closed_book([{}], "--set", "cite=true")
    assert refused.exit_code == 2
    assert "There is nothing to answer '1' from: it brings no documents, and" in refused.stderr
    assert not Path("run").exists()
    result = ask_closed_book([{}])
    assert result.exit_code == 0, result.output
    [found] = read_results(Path("run/results.jsonl")).values()
    assert found.output == "Rome, Oslo"


@pytest.mark.usefixtures("unindexed")
@pytest.mark.parametrize(
    ("asked", "more", "form"),
    [
        ([LISTED, LISTED], [], "list"),
        ([LISTED], ["--set", "form=prose"], "prose"),
    ],
)
def test_questions_for_lists_are_answered_with_lists(
    asked: list[dict[str, Any]], more: list[str], form: str
) -> None:
    assert ask_closed_book(asked, *more).exit_code == 0
    assert manifest().parameters["form"] == form
    for found in read_results(Path("run/results.jsonl")).values():
        assert found.answer is not None
        assert len(found.answer.claims) == (2 if form == "list" else 1)


def test_what_a_benchmark_cites_is_not_kept_as_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    box = toolbox()
    box.evidence = Mock(record=AsyncMock(side_effect=AssertionError("recorded")))
    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: box)
    run("--data", "numbers.jsonl", "--out", "run", code=0)


def test_a_sweep_makes_a_folder_for_each_run_and_goes_on_with_all(opened: list[Settings]) -> None:
    Path("sweep.toml").write_text(
        '[base]\nset = { max_claims = 1 }\n[grid]\nk = [1, 2]\n[[run]]\nname = "other"\n'
        'set = { "llm.seed" = 5 }\n',
        "utf-8",
    )
    arguments = ["--sweep", "sweep.toml", "--data", "numbers.jsonl", "--limit", "2"]
    run(*arguments, "--out", "all", code=0)
    folders = sorted(path.name for path in Path("all").iterdir())
    assert folders == ["k=1", "k=2", "other"]
    assert [settings.llm.seed for settings in opened] == [0, 5]  # opened anew where they differ
    assert [manifest(f"all/{name}").parameters["k"] for name in folders] == [1, 2, 5]
    assert " · answered · " not in run(*arguments, "--out", "all", "--resume", code=0).stderr


def test_a_data_sets_ranking_is_kept_by_methods_that_can() -> None:
    run_of = ["--data", "numbers.jsonl", "--limit", "1", "--method", "vanilla"]
    result = invoke(["eval", *run_of, "--out", "ranked"])
    assert result.exit_code in (0, 1), result.output
    invoke(["eval", *run_of, "--out", "searched", "--set", "ranked=false"])
    found = [manifest(name).parameters["ranked"] for name in ("ranked", "searched")]
    assert found == [True, False]


async def test_oracle_reads_what_holds_the_answers(tmp_path: Path) -> None:
    letters, number = examples(tmp_path, 1)[0].documents[::-1]
    one = examples(tmp_path, 1)[0].model_copy(update={"documents": (letters, number)})
    assert [e.documents for e in await choose_gold(toolbox(), [one], 1)] == [(number,)]
    bare = one.model_copy(update={"documents": ()})
    box = toolbox()
    box.retriever = ListRetriever([letters, number])
    assert [e.documents for e in await choose_gold(box, [bare], 2)] == [(number, letters)]
    said = bare.model_copy(update={"answers": (), "claims": ("No letter is number 0.",)})
    assert [e.documents for e in await choose_gold(box, [said], 1)] == [(letters,)]


def test_oracle_is_given_its_documents() -> None:
    arguments = ["--data", "numbers.jsonl", "--method", "oracle", "--set", "k=1", "--out", "run"]
    invoke(["eval", *arguments])
    kept = read_lines(Path("run/examples.jsonl"), Example)
    assert [[p.id for p in example.documents] for example in kept] == [[f"d{n}"] for n in range(6)]


@pytest.fixture
def scripted_judge(verify_with: Any) -> list[Settings]:
    asked: list[Settings] = verify_with(judge())
    return asked


def test_runs_are_scored_shown_and_kept(scripted_judge: list[Settings]) -> None:
    run("--data", "numbers.jsonl", "--out", "run")
    result = invoke(["score", "run", "run/alce.json", "--model", "org/nli"], code=0)
    assert [settings.entailment.model for settings in scripted_judge] == ["org/nli"]
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "run · 6 answers"
    assert "citation recall 1.000 [1.000, 1.000]" in lines
    assert any("not by TRUE (T5-XXL)" in line for line in lines)
    assert "Scores: run/scores-corrected.json" in lines
    assert "Scores: run/alce.scores-corrected.json" in lines
    card = Scorecard.model_validate_json(Path("run/scores-corrected.json").read_text("utf-8"))
    assert card.metrics["citation_precision"].n == 6
    assert Path("run/entailment.sqlite").is_file()


@pytest.mark.usefixtures("scripted_judge")
def test_mauve_is_computed_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    run("--data", "numbers.jsonl", "--out", "run")
    result = invoke(["score", "run", "--mauve"])
    assert result.exit_code == 2  # nobody wrote long answers to these questions
    assert "MAUVE cannot be computed for" in result.stderr or "citeproof[mauve]" in result.stderr
    assert not Path("run/scores-corrected.json").exists()
    monkeypatch.setattr("citeproof.evaluation.scorecard.mauve_of", lambda *_, **__: 0.5)
    result = invoke(["score", "run", "--mauve"])
    assert "MAUVE 0.500" in [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "| MAUVE |" in invoke(["report", "run", "--metrics", "mauve"]).stdout
    assert "MAUVE" not in invoke(["score", "run"]).stdout


@pytest.mark.usefixtures("scripted_judge")
def test_other_ways_of_counting_are_kept_and_told() -> None:
    run("--data", "numbers.jsonl", "--out", "run", "--limit", "1")
    invoke(["score", "run", "--at-most-citations", "1", "--cot"], code=0)
    card = Scorecard.model_validate_json(Path("run/scores-corrected.json").read_text("utf-8"))
    assert (card.at_most_citations, card.cot) == (1, True)
    told = invoke(["report", "run"]).stdout
    assert "At most 1 citation counts per statement, instead of 3." in told
    assert "Lists were read from the first colon on." in told


@pytest.mark.usefixtures("scripted_judge")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--mode", "loose"], "There is no mode 'loose'. Known: corrected, strict."),
        (["nowhere"], "nowhere is no run: there is no such folder."),
    ],
)
def test_what_cannot_be_scored_is_told(arguments: list[str], message: str) -> None:
    assert message in invoke(["score", *arguments], code=2).stderr


def test_a_report_is_printed_or_written() -> None:
    run("--data", "numbers.jsonl", "--out", "one")
    run("--data", "numbers.jsonl", "--out", "two", "--set", "verify=false")
    assert invoke(["report", "one", "two"], code=0).stdout.startswith("# Comparison of runs\n")
    arguments = ["--out", "r.md", "--html", "r.html", "--against", "one"]
    assert invoke(["report", "two", *arguments]).stdout == "Report: r.md\nPage: r.html\n"
    assert "## Differences to one, corrected" in Path("r.md").read_text("utf-8")
    assert "Differences to one, corrected" in Path("r.html").read_text("utf-8")
    result = invoke(["report", "one", "--metrics", "em_recall, seconds", "--html", "n.html"])
    assert "| # | run | n | EM recall |" in result.stdout
    assert "| # | run | seconds |" in result.stdout
    assert ">length<" in Path("r.html").read_text("utf-8")
    assert ">length<" not in Path("n.html").read_text("utf-8")
    result = invoke(["report", "one", "--metrics", "em", "--out", "no.md"], code=2)
    assert "There is no metric or cost 'em'. Known: citation_recall, " in result.stderr
    assert not Path("no.md").exists()
    result = invoke(["report", "one", "--out", "no/where/r.md"], code=2)
    assert "no/where/r.md cannot be written: No such file or directory." in result.stderr


async def test_the_bar_shows_how_far_it_is_how_long_it_takes_and_how_good_it_is(
    tmp_path: Path,
) -> None:
    asked = examples(tmp_path, 4)
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120, highlight=False)

    def result(number: int, **fields: Any) -> Result:
        return Result(id=f"q{number}", question="?", **fields)

    with evaluate._Watched(console, tmp_path, 4) as watched:
        await watched.take(asked[0], result(0, output="Number 0 is red."), True)
        await watched.take(asked[1], result(1, output="Nobody knows."), False)
        await watched.take(asked[2], result(2, error=Failure(type="E", message="m")), False)
        watched.refresh()
    shown = screen.getvalue()
    assert "EM recall 0.50" in shown
    assert "1 error" in shown
    assert "3/4" in shown
    assert "q1" not in shown  # lines are for logs
    totals = Totals(answered=2, errors=1)
    data = Data(examples=4, chosen="")
    watched.conclude(Manifest(method="m", parameters={}, prompts={}, data=data, totals=totals))
    assert f"Run: {tmp_path}" in screen.getvalue().replace("\n", "")
