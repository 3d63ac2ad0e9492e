"""Bootstrap confidence intervals of means over answers, and their format for people."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from statistics import stdev
from typing import Any

import numpy as np
from pydantic import BaseModel

from citeproof.evaluation.examples import Scores
from citeproof.evaluation.scoring import of_means, parts

_RESAMPLES = 2000
_SEED = 0
"""Fixed, so that the same values always have the same interval."""


class Estimate(BaseModel, frozen=True, extra="forbid"):
    """A metric over many answers."""

    value: float
    low: float
    """Lower end of the 95% percentile bootstrap interval (Efron 1979)."""
    high: float
    n: int
    """Number of answers to which the metric applies."""


def estimate_all(rows: Sequence[Scores]) -> dict[str, Estimate]:
    """Estimate each metric over the answers to which it applies, if there are any."""
    names = dict.fromkeys(name for row in rows for name in row)
    found = {name: estimate(rows, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def estimate(
    rows: Sequence[Scores], metric: str, less: Sequence[Scores] | None = None
) -> Estimate | None:
    """Return the mean of a metric or cost, with its interval; citation F1 and DR are made of means.

    The result is None if the metric applies to no answer. With `less`, another method's scores for
    the same questions in the same order, it is the paired difference over the questions to which
    the metric applies in both, with the same resamples for both.
    """
    sides = [rows] if less is None else [rows, less]
    groups = [group for group in zip(*sides, strict=True) if all(_applies(metric, *group))]
    if not groups:
        return None
    first, *second = [_resample(side, metric) for side in zip(*groups, strict=True)]
    value, resampled = first
    for other, its_own in second:
        value, resampled = value - other, resampled - its_own
    return _estimate(value, resampled, len(groups))


def mean_of_runs(runs: Sequence[Sequence[Scores]], metric: str) -> tuple[Estimate, float] | None:
    """Return the mean of a metric over runs of one method, and the runs' standard deviation.

    All runs have scores for the same questions in the same order. The interval covers the sampling
    of questions, which is the same for all runs, and that of runs. The result is None if a run has
    no answer to which the metric applies.
    """
    asked = [rows for rows in zip(*runs, strict=True) if any(_applies(metric, *rows))]
    numbers = [sum(_applies(metric, *rows)) for rows in zip(*asked, strict=True)]
    if not (numbers and all(numbers)):
        return None
    values, resampled = zip(*(_resample(r, metric) for r in zip(*asked, strict=True)), strict=True)
    drawn = np.random.default_rng(_SEED).integers(len(runs), size=(_RESAMPLES, len(runs)))
    means = np.take_along_axis(np.array(resampled).T, drawn, axis=1).mean(axis=1)
    return _estimate(sum(values) / len(values), means, min(numbers)), spread(values)


def spread(values: Sequence[float]) -> float:
    """Return the sample standard deviation of values; 0 for a single value."""
    return stdev(values) if len(values) > 1 else 0.0


def name_metric(metric: str) -> str:
    """Return the name of a metric or cost for people, such as `citation F1`."""
    text = metric.replace("_", " ")
    return re.sub(r"\b(?:f1|em|qa|llm|nli|dr|mauve)\b", lambda short: short[0].upper(), text)


def format_estimate(value: Estimate, *, sign: bool = False) -> tuple[str, str]:
    """Format a value and its interval for people: `0.621` and `[0.580, 0.662]`."""
    large = max(abs(value.value), abs(value.low), abs(value.high)) > 1
    form = f"{'+' if sign else ''},.{1 if large else 3}f"
    return f"{value.value:{form}}", f"[{value.low:{form}}, {value.high:{form}}]"


def format_cell(value: Estimate | None, n: int, *, sign: bool = False) -> str:
    """Format a value, its interval, and its number of answers if that is not n; None is a dash."""
    if value is None:
        return "–"
    text = " ".join(format_estimate(value, sign=sign))
    return text if value.n == n else f"{text} ({value.n})"


def _resample(rows: Sequence[Scores], metric: str) -> tuple[float, Any]:
    """Return a metric of answers, and that of each resample of them.

    A resample that holds no answer to which the metric applies gets the metric of all answers.
    """
    names, draws = parts(metric), _draws(len(rows))[:, _applies(metric, *rows)]
    kept = [row for row in rows if row.get(metric) is not None]
    table = np.array([[row[name] for name in names] for row in kept], dtype=float)

    def value(means: Any) -> float:
        return of_means(dict(zip(names, means.tolist(), strict=True)), metric)

    draws = np.where(draws.any(axis=1, keepdims=True), draws, 1)
    resampled = [value(means) for means in draws @ table / draws.sum(axis=1, keepdims=True)]
    return value(table.mean(axis=0)), np.array(resampled)


@lru_cache(1)
def _draws(number: int) -> Any:
    """Return how often each of `number` answers is drawn, for each resample."""
    chances = [1 / number] * number
    return np.random.default_rng(_SEED).multinomial(number, chances, _RESAMPLES)


def _estimate(value: float, resampled: Any, number: int) -> Estimate:
    low, high = np.percentile(resampled, (2.5, 97.5))
    return Estimate(value=value, low=float(low), high=float(high), n=number)


def _applies(metric: str, *rows: Scores) -> list[bool]:
    return [row.get(metric) is not None for row in rows]
