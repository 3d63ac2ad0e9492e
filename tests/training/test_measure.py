from __future__ import annotations

import math

import pytest

from training import measure
from training.rows import Row


def test_area_counts_pairs_in_the_right_order_and_ties_half() -> None:
    assert measure.area([0.9, 0.8, 0.3, 0.1], [True, True, False, False]) == 1.0
    assert measure.area([0.1, 0.9], [True, False]) == 0.0
    assert measure.area([0.5, 0.5, 0.2], [True, False, False]) == 0.75
    assert math.isnan(measure.area([0.5], [True]))


def test_balanced_accuracy_weighs_both_kinds_alike() -> None:
    scores, truths = [0.9, 0.4, 0.1, 0.1, 0.6], [True, True, False, False, False]
    assert measure.balanced(scores, truths, 0.5) == pytest.approx((1 / 2 + 2 / 3) / 2)


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


def test_overlap_is_the_share_of_known_words() -> None:
    assert measure.overlap("the tower is old", "The tower is new") == 0.75
    assert measure.overlap("a", "") == 0.0
