"""`ask --thread`: an interrupted run goes on where it stopped."""

from __future__ import annotations

import math
import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from rich.console import Console

from citeproof import Answer, Toolbox, cli
from citeproof.errors import ModelOutageError, VerifierOutageError
from citeproof.testing import TableEntailment
from tests.command import run
from tests.graphs.scripts import BUILT, LIT, Script

QUESTION = "Who built the tower, and when was it lit?"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    made = Script([BUILT, LIT, "DONE"], [[1], [2]])
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".citeproof").mkdir()
    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: made.toolbox())
    return made


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_interrupted_run_goes_on_and_repeats_no_call(script: Script, at: int) -> None:
    script.lasts = at
    run(["ask", QUESTION, "--thread", "t"], code=2)
    script.lasts = math.inf
    result = run(["ask", QUESTION, "--thread", "t"], code=0)
    whole = "Ann Lee built the tower [1]. The tower was lit in 1871 [2]."
    assert f"The whole answer: {whole}" in result.stdout
    assert "2 of 2 claims proved" in result.stdout
    assert script.calls == {"claim_generator": 3, "citation_generator": 2}
    assert script.queries == [QUESTION]


@pytest.mark.parametrize("command", [["ask", QUESTION], ["chat"]])
def test_a_thread_needs_a_name(script: Script, command: list[str]) -> None:
    assert "The thread has no name" in run([*command, "--thread", " "], code=2).stderr
    assert script.calls == {}


@pytest.mark.parametrize(("lasts", "next_"), [(1, "Who lit it?"), (math.inf, QUESTION)])
def test_after_another_question_or_a_finished_run_all_starts_anew(
    script: Script, lasts: float, next_: str
) -> None:
    script.lasts = lasts
    run(["ask", QUESTION, "--thread", "t"])
    script.lasts = math.inf
    script.calls.clear()
    run(["ask", next_, "--thread", "t"], code=0)
    assert script.queries == [QUESTION, next_]


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("postgresql://citeproof@127.0.0.1:1/runs", "The run cannot be kept in PostgreSQL: "),
        ("mysql://runs", "checkpointer = 'mysql://runs' (from the arguments) is not allowed"),
    ],
)
def test_a_checkpointer_that_is_not_there_is_told(script: Script, where: str, told: str) -> None:
    ask = ["ask", QUESTION, "--thread", "t", "--set", f"checkpointer={where}"]
    assert run(ask, code=2).stderr.startswith(told)


@pytest.fixture
def outage(script: Script) -> Script:
    script.lasts, gone = 0, "the server is gone"
    script.failure = ModelOutageError("No answer", why=gone, fix="Try again later.")
    return script


@pytest.mark.parametrize("named", [True, False])
def test_an_outage_leaves_what_is_proved_and_a_thread_to_go_on_with(
    outage: Script, named: bool
) -> None:
    outage.lasts = 3
    name = ["--thread", "t"] if named else []
    lost = run(["ask", QUESTION, "--json", *name])
    answer = Answer.model_validate_json(lost.stdout)
    assert (lost.exit_code, answer.status) == (4, "partial"), lost.output
    assert answer.text == "Ann Lee built the tower [1]."
    assert "the server is gone" in answer.reason
    assert "The run is saved: ask the same question again" in lost.stderr
    if not named:
        name = re.findall(r"with (--thread) (run-[0-9a-f-]+) to resume it", lost.stderr)[0]
    run(["ask", QUESTION, *name], code=4)
    outage.lasts = math.inf
    done = run(["ask", QUESTION, *name], code=0)
    assert "Ann Lee built the tower [1]. The tower was lit in 1871 [2]." in done.stdout
    assert outage.calls == {"claim_generator": 3, "citation_generator": 2}
    assert outage.queries == [QUESTION]


def test_an_outage_before_anything_is_proved_is_no_answer(outage: Script) -> None:
    lost = run(["ask", QUESTION, "--json"])
    assert (lost.exit_code, lost.stdout) == (2, "")
    assert "the server is gone" in lost.stderr
    assert "The run is saved: ask the same question again with --thread run-" in lost.stderr


def test_a_verifier_that_is_lost_is_an_outage(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = TableEntailment(Mock(side_effect=VerifierOutageError("No scores")))
    tools = script.toolbox(answerability=gone)
    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: tools)
    lost = run(["ask", QUESTION, "--method", "verbatim"], code=2)
    assert "No scores" in lost.stderr
    assert "with --thread run-" in lost.stderr


def test_an_outage_may_be_an_error_as_from_python(outage: Script) -> None:
    outage.lasts = 3
    lost = run(["ask", QUESTION, "--json", "--set", "on_outage=false"])
    assert (lost.exit_code, lost.stdout) == (2, "")
    assert "with --thread run-" in lost.stderr


def test_a_run_without_a_name_leaves_nothing_once_it_is_done(outage: Script) -> None:
    outage.lasts = math.inf
    run(["ask", QUESTION], code=0)
    assert kept() == []


def test_of_runs_without_a_name_the_latest_are_kept(
    outage: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citeproof.console.threads._MOST", 2)
    run(["ask", QUESTION, "--thread", "run-1"])
    outage.lasts = 3
    for _ in range(4):
        outage.calls.clear()
        run(["ask", QUESTION], code=4)
    assert len(kept()) == 3
    assert "vtg/run-1" in kept()


@pytest.mark.parametrize("named", [True, False])
def test_a_run_that_nobody_asked_to_keep_needs_no_file(outage: Script, named: bool) -> None:
    outage.lasts = math.inf
    Path(".citeproof/threads.sqlite").write_text("no database, but a long enough text " * 9)
    name = ["--thread", "t"] if named else []
    assert run(["ask", QUESTION, *name]).exit_code == (2 if named else 0)


def test_ctrl_c_between_two_moments_leaves_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", __name__, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    told = (
        r"Interrupted; closing the models\.\nThe run is saved: .* --thread run-\S+ to resume it\.\n"
    )
    assert re.fullmatch(told, done.stderr), done.stderr
    assert done.returncode == 130


def kept() -> list[str]:
    with closing(sqlite3.connect(".citeproof/threads.sqlite")) as file:
        return [name for (name,) in file.execute("SELECT DISTINCT thread_id FROM checkpoints")]


def interrupted(folder: Path) -> None:
    """The command line, interrupted by its own fifth line: then it waits for no model."""
    printed, lines = Console.print, [0]

    def show(self: Console, *what: Any, **how: Any) -> None:
        printed(self, *what, **how)
        lines[0] += 1
        if lines[0] == 5:
            os.kill(os.getpid(), signal.SIGINT)

    os.chdir(folder)
    Path(".citeproof").mkdir()
    script = Script([BUILT, LIT, "DONE"], [[1], [2]])
    setattr(Console, "print", show)  # noqa: B010
    setattr(Toolbox, "from_settings", lambda *_, **__: script.toolbox())  # noqa: B010
    sys.argv = ["citeproof", "ask", QUESTION, "--trace"]
    cli.main()


if __name__ == "__main__":
    interrupted(Path(sys.argv[1]))
