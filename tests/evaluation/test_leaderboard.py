"""The table of the leaderboard, made from folders of runs; and that no method is left out of it."""

from __future__ import annotations

import re
import runpy
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from citeproof import build_vtg
from citeproof.evaluation.runner import run
from citeproof.evaluation.sweep import read_sweep
from citeproof.graphs.registry import METHODS
from citeproof.testing import TableEntailment
from tests.evaluation.scripted import examples, judge, reply, toolbox

FOLDER = Path(__file__).parents[2] / "benchmarks/leaderboard"
leaderboard = SimpleNamespace(**runpy.run_path(str(FOLDER / "table.py")))


def red(prompt: str) -> str:
    """Every number is red, and the passage on the number is said to state it."""
    return re.sub(r"(green|blue)", "red", reply(prompt))


@pytest.fixture
async def board(tmp_path: Path) -> Any:
    """Two sets of three questions; one method says what the passages say, the other does not."""
    asked, folder = examples(tmp_path, 3), tmp_path / "runs"
    for name in ("one", "two"):
        for method, script in (("vanilla", red), ("vtg", reply)):
            graph = build_vtg(toolbox(script), max_claims=1, max_trials=0, queries=1)
            await run(graph, method, asked, folder / name / "1" / method)
    (folder / "two/2/vtg").mkdir(parents=True)  # begun, and nothing answered yet
    (folder / "two/2/vtg/manifest.json").write_text("{}", "utf-8")
    runs = leaderboard.find_runs(folder)
    doubts = TableEntailment(lambda premise, hypothesis: 0.9 if "is red" in hypothesis else 0.1)
    judges = {"cross-encoder": judge(), "judge": doubts}
    return {kind: await leaderboard.judge_runs(runs, own) for kind, own in judges.items()}


def cells(lines: list[str]) -> list[list[str]]:
    rows = [[text.strip() for text in line.strip("| ").split(" | ")] for line in lines if line]
    return [rows[0], *rows[2:]]


async def test_all_sets_are_pooled_and_each_judge_has_a_column(board: Any) -> None:
    head, *rows = cells(leaderboard.table(board, ("em_recall", "wrongly_proved")))
    assert head == [
        "method",
        "n",
        "EM recall",
        "wrongly proved by the verifier",
        "wrongly proved by the language model",
    ]
    found = {name: [n, *(own.split(" ")[0] for own in more)] for name, n, *more in rows}
    # One number of three is red. VTG flags what it cannot prove: those proofs are not wrong ones.
    assert found == {
        "vanilla": ["6", "0.333", "0.000", "0.000"],
        "vtg": ["6", "1.000", "0.000", "0.667"],
    }
    assert rows[0][3].endswith("(2)")


async def test_differences_are_paired(board: Any) -> None:
    for rows in board.values():
        del rows["vtg"]["one/q0"]
    head, row = cells(leaderboard.table(board, ("em_recall", "llm_calls"), base="vanilla"))
    assert (head[:2], row[:2]) == (["method", "n"], ["vtg", "5"])
    assert row[2].startswith("+0.800")


async def test_a_set_alone(board: Any) -> None:
    page = leaderboard.page(board, ["vanilla"])
    assert "6 questions (one 3, two 3)" in page
    assert [row[1] for row in cells(page.split("## two\n\n")[1].split("\n\n")[0].split("\n"))] == [
        "n",
        "3",
        "3",
    ]
    files = set(re.findall(r"\]\((.*)\)", page))
    assert files == {file for file, _ in leaderboard.plots(board)}
    assert "citation_f1-judge.svg" in files


def test_every_method_is_in_one_of_the_sweeps() -> None:
    plans = [own for path in FOLDER.glob("*.toml") for own in read_sweep(path, data="x.jsonl")]
    assert all(plan.name == plan.method for plan in plans)
    # ORACLE wants documents that come with a question.
    assert sorted(plan.method for plan in plans) == sorted(METHODS.keys() - {"oracle"})


def test_rounds_ask_every_method_a_part_of_each_set(tmp_path: Path) -> None:
    log = tmp_path / "log"
    fake = tmp_path / "citeproof"
    fake.write_text(f'#!/bin/sh\nprintf "%s " "$@" >> {log}\necho >> {log}\nexit 1\n', "utf-8")
    fake.chmod(0o755)
    asked = {"PATH": f"{tmp_path}:/usr/bin:/bin", "ROUNDS": "5", "FIRST": "2", "LAST": "3"}
    command = [str(FOLDER / "run.sh"), f"{tmp_path}/runs", "sets/a.jsonl", "b.jsonl"]
    subprocess.run(command, env={**asked, "SWEEPS": "cheap", "STORE": "kept"}, check=True)
    told = log.read_text("utf-8").splitlines()
    parts = [re.search(r"--data (\S+) .*--shard (\S+) --out (\S+)", line) for line in told]
    assert [part and part.groups() for part in parts] == [
        (data, f"{n}/5", f"{tmp_path}/runs/{name}/{n}")
        for n in (2, 3)
        for data, name in (("sets/a.jsonl", "a"), ("b.jsonl", "b"))
    ]
    assert all("--resume --store kept" in line for line in told)
    fake.write_text("#!/bin/sh\nexit 130\n", "utf-8")
    assert subprocess.run(command, env=asked, check=False).returncode != 0
