"""The benchmark of verifiers: scores are kept as they come, and make one table."""

from __future__ import annotations

import asyncio
import json
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from citeproof.errors import SettingsError
from citeproof.testing import TableEntailment
from citeproof.tools.entailment import Pair
from training.rows import Row

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(FOLDER))  # for what the benchmarks share
verifiers = SimpleNamespace(**runpy.run_path(str(FOLDER / "verifiers.py")))
ROWS = [
    Row(f"premise {n}", f"claim {n}", "entailed" if n % 2 else "not_entailed", "s")
    for n in range(200)
]
SETS = {"s": ROWS}


class Counting(TableEntailment):
    """Is right about nine pairs of ten; fails when told to."""

    def __init__(self, fails_at: int = 10**6) -> None:
        super().__init__(self._right, name="v")
        self.fails_at = fails_at

    @staticmethod
    def _right(_: str, claim: str) -> float:
        number = int(claim.split()[1]) if claim.startswith("claim") else 0
        return 0.9 if (number % 2 == 1) != (number % 10 == 0) else 0.2

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        if len(self.pairs) + len(pairs) > self.fails_at:
            raise KeyboardInterrupt
        return await super().scores(pairs)


def run(model: Counting, kept: Path, sets: Any = SETS) -> Any:
    return asyncio.run(verifiers.score(model, sets, kept))


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    kept = tmp_path / "deep" / "scores.sqlite"
    with pytest.raises(KeyboardInterrupt):
        run(Counting(fails_at=150), kept)
    second = Counting()
    found = run(second, kept)
    assert len(second.pairs) == 200 - 2 * verifiers.BATCH + 1  # one to load the model
    third = Counting()
    assert run(third, kept)["s"].scores == found["s"].scores
    assert third.pairs == []
    scores = tmp_path / "scores.jsonl"
    verifiers.write(scores, "v", SETS, found)
    lines = [json.loads(line) for line in scores.read_text("utf-8").splitlines()]
    assert [(line["entailed"], line["score"]) for line in lines[:2]] == [(False, 0.9), (True, 0.9)]
    assert len(lines) == 200


def test_the_table_has_a_row_for_each_set_and_one_for_the_mean(tmp_path: Path) -> None:
    grouped = [
        Row("premise 0", "claim 1", "entailed", "g", group="x"),
        Row("premise 1", "claim 2", "not_entailed", "g", group="x"),
        Row("premise 2", "claim 4", "not_entailed", "g", group="y"),
    ]
    sets = {"s": ROWS, "g": grouped}
    found = run(Counting(), tmp_path / "scores.sqlite", sets)
    head, rule, first, second, mean = verifiers.table(sets, found, 0.5)
    assert head.startswith("| set | claims | entailed | proved | false proofs |")
    assert rule.count("---") == len(verifiers.HEAD)
    assert first.startswith("| s | 200 | 100 | 120 | 0.167 | 0.900 | 0.900 (0.90) | 0.900 |")
    assert second.startswith("| g | 2 | 1 | 1 | 0.000 | 1.000 | 1.000 (0.90) | 1.000 |")
    assert mean.startswith("| **mean** |  |  |  | 0.083 | 0.950 | 0.950 | 0.950 |")


def test_pairs_that_cannot_be_measured_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"premise": "p", "hypothesis": "h", "label": "entailed"}
    paths = [tmp_path / name / "dev.jsonl" for name in "abc"]
    for path, label in zip(paths, ("entailed", "not_entailed", 1), strict=True):
        path.parent.mkdir()
        path.write_text(json.dumps({**row, "label": label}), encoding="utf-8")
    out = ["--out", str(tmp_path / "scores.jsonl")]
    for named, told in (
        (paths[:2], "two files of pairs have the same name"),
        (paths[2:], "dev.jsonl, line 1: unknown label 1"),
        ([tmp_path / "none.jsonl"], "No such file or directory"),
    ):
        line = ["verifiers.py", *out, *(part for path in named for part in ("--pairs", str(path)))]
        monkeypatch.setattr(sys, "argv", line)
        with pytest.raises(SystemExit):
            verifiers.main()
        assert told in capsys.readouterr().err


def test_the_settings_are_those_of_the_product(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = tmp_path / "pairs.jsonl"
    row = {"premise": "p", "hypothesis": "h", "label": "entailed"}
    pairs.write_text(json.dumps(row), encoding="utf-8")
    line = ["verifiers.py", "--pairs", str(pairs), "--out", str(tmp_path / "scores.jsonl")]
    monkeypatch.setattr(sys, "argv", [*line, "--set", "entailment.model=factcq"])
    with pytest.raises(SettingsError, match=r"Did you mean factcg\?"):
        verifiers.main()
