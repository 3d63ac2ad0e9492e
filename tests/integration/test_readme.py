"""Every command and program of the README runs as it stands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.test_docs import blocks as page_blocks

ROOT = Path(__file__).parents[2]
LASTS = re.compile(r"\b(nine|9) days\b")
README = (ROOT / "README.md").read_text(encoding="utf-8")

blocks = partial(page_blocks, Path("README.md"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples, as in a clone, and nothing else."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "examples", folder / "examples")
    return folder


def run(folder: Path, *command: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"`make (\w+)`", README))
    assert named == {"demo", "test"}
    assert all(f"\n{target}:" in makefile for target in named)


def test_the_first_question_is_answered(folder: Path) -> None:
    install, ask = blocks("bash")[0].splitlines()
    assert install == 'pip install "citeproof[local]"'  # `.ci/install` tries it
    shown = run(folder, "bash", "-c", ask)
    assert LASTS.search(shown)
    assert not (folder / ".citeproof").exists()


def test_the_commands_run(folder: Path) -> None:
    lines = blocks("bash")[1].splitlines()
    assert len(lines) >= 4
    shown = {line: run(folder, "bash", "-c", line) for line in lines}
    assert "78" in shown["citeproof index examples/documents"]
    answer = next(text for line, text in shown.items() if "keeper's loaf" in line)
    assert LASTS.search(answer)
    assert re.search(r"\d of \d claims? proved", answer)
    checked = next(text for line, text in shown.items() if "letter.txt" in line)
    assert re.search(r"\d of 4 sentences supported by what they cite", checked)
    assert "contradicted" in checked  # 9,800 passengers
    page = (folder / "answer.html").read_text(encoding="utf-8")
    assert "<mark>" in page


def test_the_evaluation_runs(folder: Path) -> None:
    lines = blocks("bash")[2].splitlines()
    assert [line.split()[1] for line in lines] == ["eval", "score", "report"]
    for line in lines:
        shown = run(folder, "bash", "-c", line)
    assert "citation recall" in shown.lower()
    assert "<svg" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_program_runs(folder: Path) -> None:
    program, _ = blocks("python")
    shown = run(folder, sys.executable, "-c", program)
    assert LASTS.search(shown.splitlines()[0])
    assert "supported" in shown


def test_the_composed_program_runs(folder: Path) -> None:
    _, program = blocks("python")
    assert len(program.splitlines()) <= 12
    answer, _, case = run(folder, sys.executable, "-c", program).strip().partition(" case")
    assert LASTS.search(answer)
    assert re.fullmatch("( [0-9a-f]+)?", case)
