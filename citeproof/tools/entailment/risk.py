"""Which threshold keeps false proofs rare: conformal risk control.

Scores of pairs that nothing was trained on stand beside the adapter. The threshold is the conformal
quantile of the pairs whose premise does not state the claim: a further pair like them reaches it
with at most the given probability (Angelopoulos et al., 2022, arXiv 2208.02814, with the loss
"proved though not stated").
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from citeproof.errors import SettingsError


@dataclass(frozen=True)
class Risk:
    """The effect of a threshold on pairs of a claim and a passage, as shares from 0 to 1."""

    false_proofs: float
    """Of the claims that the passage does not state, those that it is said to prove."""
    kept: float
    """Of the claims that it states, those that it is said to prove."""


@cache
def calibration_scores() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The scores of pairs with a stated claim, and of those without, of the shipped model."""
    path = files("citeproof.models") / "adapter" / "scores.json"
    scores = json.loads(path.read_text(encoding="utf-8"))
    return tuple(scores["stated"]), tuple(scores["not_stated"])


def choose_threshold(not_stated: Sequence[float], share: float) -> float:
    """The lowest threshold that keeps false proofs to a share.

    Args:
        not_stated: Scores of claims that their passage does not state.
        share: Most of such claims that may be proved, above 0 and below 1.

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
    # Scores from the threshold on count, so it lies just above the quantile.
    return math.nextafter(sorted(not_stated)[rank - 1], 1.0)


def measure_risk(threshold: float) -> Risk:
    """The effect of a threshold of the shipped model, on pairs that it was not trained on."""
    stated, not_stated = calibration_scores()
    return Risk(_share(not_stated, threshold), _share(stated, threshold))


def _share(scores: Sequence[float], threshold: float) -> float:
    return sum(score >= threshold for score in scores) / len(scores)
