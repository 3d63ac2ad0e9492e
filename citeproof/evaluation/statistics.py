"""How sure a mean is: bootstrap confidence intervals over answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from citeproof.evaluation.examples import Scores
from citeproof.evaluation.scoring import METRICS, aggregate

__all__ = ["Estimate", "estimate", "estimates"]

_RESAMPLES = 2000
_SEED = 0
"""The same values have the same interval whenever it is asked for."""


class Estimate(BaseModel):
    """A metric over many answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: float
    low: float
    """Lower end of the 95% percentile bootstrap interval (Efron 1979)."""
    high: float
    n: int
    """Answers to which the metric applies."""


def estimates(rows: Sequence[Scores]) -> dict[str, Estimate]:
    """Each metric over the answers to which it applies, if there are any."""
    names = dict.fromkeys(name for row in rows for name in row)
    found = {name: estimate(rows, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def estimate(
    rows: Sequence[Scores], metric: str, less: Sequence[Scores] | None = None
) -> Estimate | None:
    """What `aggregate` makes of a metric, with its interval; other keys have their mean.

    Args:
        rows: One for each answer.
        metric: The key.
        less: Another method's, for the same questions in the same order: then it is the paired
            difference. The same questions are drawn for both, and those count to which the
            metric applies in both.

    Returns:
        None where the metric applies to no answer.
    """
    sides = [rows] if less is None else [rows, less]
    groups = [group for group in zip(*sides, strict=True) if _apply(group, metric)]
    if not groups:
        return None
    number = len(groups)
    draws = np.random.default_rng(_SEED).multinomial(number, [1 / number] * number, _RESAMPLES)
    values, resampled = 0.0, np.zeros(_RESAMPLES)
    for sign, side in zip((1, -1), zip(*groups, strict=True), strict=False):
        names = [name for name in side[0] if all(row.get(name) is not None for row in side)]
        table = np.array([[row[name] for name in names] for row in side], dtype=float)
        values += sign * _value(dict(zip(names, table.mean(axis=0).tolist(), strict=True)), metric)
        resampled += sign * np.array(
            [
                _value(dict(zip(names, means, strict=True)), metric)
                for means in (draws @ table / number).tolist()
            ]
        )
    low, high = np.percentile(resampled, (2.5, 97.5))
    return Estimate(value=values, low=float(low), high=float(high), n=number)


def _apply(rows: Sequence[Scores], metric: str) -> bool:
    return all(row.get(metric) is not None for row in rows)


def _value(means: Mapping[str, float], metric: str) -> float:
    """A metric of means of answers to which it applies: some are made of the means of others."""
    return aggregate([dict(means)])[metric] if metric in METRICS else means[metric]
