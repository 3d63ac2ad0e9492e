from __future__ import annotations

import math
from pathlib import Path

import pytest

from training import measure
from training.rows import Row, sample, write


def test_area_counts_pairs_in_the_right_order_and_ties_half() -> None:
    assert measure.area([0.9, 0.8, 0.3, 0.1], [True, True, False, False]) == 1.0
    assert measure.area([0.1, 0.9], [True, False]) == 0.0
    assert measure.area([0.5, 0.5, 0.2], [True, False, False]) == 0.75
    assert math.isnan(measure.area([0.5], [True]))


def test_calibration_error_is_the_distance_from_the_share() -> None:
    assert measure.calibration_error([0.75] * 4, [True, True, True, False]) == 0.0
    assert measure.calibration_error([0.95] * 4, [True, True, False, False]) == pytest.approx(0.45)
    assert measure.bins([1.0], [True]) == [(1.0, 1.0, 1)]


def test_of_a_group_the_best_chunk_counts() -> None:
    rows = [
        Row("p", "h", "entailed", "s", group="g"),
        Row("q", "h", "not_entailed", "s", group="g"),
        Row("r", "h", "not_entailed", "s"),
    ]
    assert measure.by_group(rows, [0.2, 0.7, 0.4]) == ([0.7, 0.4], [True, False])


def test_the_best_threshold_is_one_of_the_scores() -> None:
    scores, truths = [0.9, 0.8, 0.7, 0.2], [True, False, True, False]
    assert measure.best_balanced(scores, truths) == (0.75, 0.7)
    assert measure.best_balanced([0.1, 0.4], [True, False]) == (0.5, 0.1)
    best, _ = measure.best_balanced([0.1], [True])
    assert math.isnan(best)
    tied = measure.best_balanced([0.5, 0.5, 0.1], [True, False, False])
    assert tied == (0.75, 0.5)


def test_all_measures_at_once() -> None:
    found = measure.quality([0.9, 0.6, 0.2], [True, False, False], 0.5)
    assert (found.pairs, found.proved, found.false_proofs) == (3, 2, 0.5)
    assert (found.area, found.balanced, found.best, found.best_threshold) == (1.0, 0.75, 1.0, 0.9)
    assert math.isnan(measure.quality([0.1, 0.2], [True, False], 0.5).false_proofs)


def test_a_sample_keeps_groups_whole(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    rows = [Row("p", str(n), "entailed", "s", group=f"g{n // 2}") for n in range(20)]
    write(file, rows)
    name, drawn = sample(f"{file}:5")
    assert (name, len(drawn)) == ("pairs", 6)
    groups = [row.group for row in drawn]
    assert all(groups.count(group) == 2 for group in groups)
    assert sample(f"{file}:5") == (name, drawn)
    assert len(sample(str(file))[1]) == 20
