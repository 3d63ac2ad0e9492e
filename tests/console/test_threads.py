"""`ask --thread`: an interrupted run goes on where it stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from citeproof import Toolbox, cli
from citeproof.settings import Settings
from tests.graphs.scripts import BUILT, LIT, A, B, Script

run = CliRunner().invoke
QUESTION = "Who built the tower, and when was it lit?"


class Failing(Script):
    """A script whose model is interrupted at some call."""

    at: int = 0

    def reply(self, prompt: str) -> str:
        if sum(self.calls.values()) == self.at:
            raise RuntimeError("The plug was pulled")
        return super().reply(prompt)


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Failing:
    def tools(settings: Settings, *, progress: Any = None) -> Toolbox:
        return made.toolbox()

    monkeypatch.chdir(tmp_path)
    (tmp_path / ".citeproof").mkdir()
    monkeypatch.setattr(Toolbox, "from_settings", tools)
    made = Failing([BUILT, LIT, "DONE"], [[1], [2]], passages={"": [A, B]})
    return made


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_interrupted_run_goes_on_and_repeats_no_call(script: Failing, at: int) -> None:
    script.at = at
    stopped = run(cli.app, ["ask", QUESTION, "--thread", "t"])
    assert stopped.exit_code == 2, stopped.output
    script.at = -1
    result = run(cli.app, ["ask", QUESTION, "--thread", "t"])
    assert result.exit_code == 0, result.output
    whole = "Ann Lee built the tower [1]. The tower was lit in 1871 [2]."
    assert f"The whole answer: {whole}" in result.stdout
    assert "2 of 2 claims proved" in result.stdout
    assert script.calls == {"claim_generator": 3, "citation_generator": 2}
    assert script.queries == [QUESTION]


def test_another_question_on_the_thread_starts_anew(script: Failing) -> None:
    script.at = 1
    run(cli.app, ["ask", QUESTION, "--thread", "t"])
    script.at = -1
    script.calls.clear()
    result = run(cli.app, ["ask", "Who lit it?", "--thread", "t"])
    assert result.exit_code == 0, result.output
    assert script.queries == [QUESTION, "Who lit it?"]


def test_a_finished_run_starts_anew(script: Failing) -> None:
    script.at = -1
    for _ in range(2):
        script.calls.clear()
        assert run(cli.app, ["ask", QUESTION, "--thread", "t"]).exit_code == 0
    assert script.queries == [QUESTION, QUESTION]


def test_a_file_that_is_no_store_is_told(script: Failing) -> None:
    Path(".citeproof/threads.sqlite").write_text("no database, but a long enough text " * 9)
    result = run(cli.app, ["ask", QUESTION, "--thread", "t"])
    assert result.exit_code == 2
    assert "The run cannot be kept in .citeproof/threads.sqlite" in result.output
