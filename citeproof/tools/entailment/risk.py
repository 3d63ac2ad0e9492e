"""Chooses the threshold that keeps false proofs rare, by conformal risk control.

The adapter's folder holds the scores of pairs that nothing was trained on. The threshold is the
conformal quantile of the pairs whose premise does not state the claim: a further such pair reaches
it with at most the given probability (Angelopoulos et al., 2022, arXiv 2208.02814, with the loss
"proved though not stated").
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from citeproof.errors import SettingsError
from citeproof.models.merged import ENTAILMENT


@dataclass(frozen=True)
class Risk:
    """The effect of a threshold on pairs of a claim and a passage, as shares from 0 to 1."""

    false_proofs: float
    """Among the claims that the passage does not state, the share that counts as proved."""
    kept: float
    """Among the claims that the passage states, the share that counts as proved."""


@cache
def calibration_scores() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the shipped model's scores of pairs with a stated claim, and of pairs without."""
    path = ENTAILMENT.adapter / "scores.json"
    scores = json.loads(path.read_text(encoding="utf-8"))
    return tuple(scores["stated"]), tuple(scores["not_stated"])


def choose_threshold(not_stated: Sequence[float], share: float) -> float:
    """Return the lowest threshold that limits false proofs to a share, above 0 and below 1.

    `not_stated` are scores of claims that their passage does not state.

    Raises:
        SettingsError: There are too few scores for so small a share.
    """
    rank = math.ceil((len(not_stated) + 1) * (1 - share))
    if rank > len(not_stated):
        least = 1 / (len(not_stated) + 1)
        raise SettingsError(
            f"entailment.false_proofs = {share:g} is too small",
            why=f"it was measured on {len(not_stated)} claims",
            fix=f"Choose at least {math.ceil(least * 1e4) / 1e4:g}.",
        )
    # A score equal to the threshold counts, so it lies just above the quantile.
    return math.nextafter(sorted(not_stated)[rank - 1], 1.0)


def measure_risk(threshold: float) -> Risk:
    """Return the effect of a threshold of the shipped model on pairs that it was not trained on."""
    stated, not_stated = calibration_scores()
    return Risk(_share(not_stated, threshold), _share(stated, threshold))


def _share(scores: Sequence[float], threshold: float) -> float:
    return sum(score >= threshold for score in scores) / len(scores)
