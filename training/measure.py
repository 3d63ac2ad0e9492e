"""Measures an entailment model on labelled pairs: ranking, decisions, calibration.

All functions take plain lists: scores (probability of entailment, 0 to 1) and whether each pair
is entailed.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass

from sklearn.metrics import roc_auc_score, roc_curve

from citeproof.tools.entailment import Entailment, Pair
from training.rows import Row


@dataclass(frozen=True)
class Quality:
    """Measurements on one set."""

    pairs: int
    area: float
    """Under the ROC curve: the chance that an entailed pair scores above one that is not."""
    proved: int
    """Pairs that score at least the threshold."""
    false_proofs: float
    """Share of the proved pairs that are not entailed; NaN if none is proved."""
    balanced: float
    """Mean of the accuracies on entailed pairs and on the others, at the threshold."""
    best: float
    """The same at the best threshold for these pairs: an upper bound."""
    best_threshold: float
    """The threshold of `best`."""
    error: float
    """Expected calibration error: mean distance of score and share entailed, in ten bins."""


def scored(model: Entailment, rows: Sequence[Row]) -> list[float]:
    """The model's scores of rows, in order."""
    return asyncio.run(model.scores([Pair(row.premise, row.hypothesis) for row in rows]))


def by_group(rows: Sequence[Row], scores: Sequence[float]) -> tuple[list[float], list[bool]]:
    """Scores and truths, with each group reduced to its best chunk."""
    best: dict[str, tuple[float, bool]] = {}
    for index, (row, score) in enumerate(zip(rows, scores, strict=True)):
        key = row.group or f"#{index}"
        known, truth = best.get(key, (0.0, False))
        best[key] = (max(known, score), truth or row.entailed)
    return [s for s, _ in best.values()], [t for _, t in best.values()]


def quality(scores: Sequence[float], truths: Sequence[bool], threshold: float) -> Quality:
    """All measurements of a set."""
    return Quality(
        len(scores),
        area(scores, truths),
        sum(score >= threshold for score in scores),
        false_proofs(scores, truths, threshold),
        balanced(scores, truths, threshold),
        *best_balanced(scores, truths),
        calibration_error(scores, truths),
    )


def area(scores: Sequence[float], truths: Sequence[bool]) -> float:
    """Area under the ROC curve; ties count half. NaN if all pairs are of one kind."""
    return float(roc_auc_score(truths, scores)) if len(set(truths)) == 2 else math.nan


def balanced(scores: Sequence[float], truths: Sequence[bool], threshold: float) -> float:
    """Balanced accuracy of the decisions at a threshold."""
    shares = []
    for kind in (True, False):
        hits = [(s >= threshold) == kind for s, t in zip(scores, truths, strict=True) if t is kind]
        if hits:
            shares.append(sum(hits) / len(hits))
    return sum(shares) / len(shares) if shares else math.nan


def best_balanced(scores: Sequence[float], truths: Sequence[bool]) -> tuple[float, float]:
    """The highest balanced accuracy of any threshold, and the lowest threshold that reaches it.

    NaN and 0.5 if all pairs are of one kind: any threshold would do.
    """
    if len(set(truths)) < 2:
        return math.nan, 0.5
    wrong, hits, thresholds = roc_curve(truths, scores, drop_intermediate=False)
    values = [(hit + 1 - miss) / 2 for hit, miss in zip(hits, wrong, strict=True)]
    best = max(values)
    at = max(place for place, value in enumerate(values) if value == best)
    return float(best), float(thresholds[at])


def false_proofs(scores: Sequence[float], truths: Sequence[bool], threshold: float) -> float:
    """Share of the pairs proved at a threshold that are not entailed; NaN if none is proved."""
    proved = [truth for score, truth in zip(scores, truths, strict=True) if score >= threshold]
    return 1 - sum(proved) / len(proved) if proved else math.nan


def bins(scores: Sequence[float], truths: Sequence[bool]) -> list[tuple[float, float, int]]:
    """A reliability diagram: (mean score, share entailed, pairs) of each of ten bins with pairs."""
    cells: list[list[tuple[float, bool]]] = [[] for _ in range(10)]
    for score, truth in zip(scores, truths, strict=True):
        cells[min(9, int(score * 10))].append((score, truth))
    return [
        (sum(s for s, _ in cell) / len(cell), sum(t for _, t in cell) / len(cell), len(cell))
        for cell in cells
        if cell
    ]


def calibration_error(scores: Sequence[float], truths: Sequence[bool]) -> float:
    """Expected calibration error over ten bins."""
    return sum(n * abs(s - t) for s, t, n in bins(scores, truths)) / len(scores)
