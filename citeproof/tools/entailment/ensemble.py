"""Several entailment models as one: all must agree, or their mean decides."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from citeproof.tools.entailment.base import Entailment, Pair, Score, contradiction_of, stretch


class Ensemble:
    """Asks every model about every pair.

    Each model's scores are first stretched, linearly below and above its threshold, so that the
    threshold becomes 0.5. With `min` and the default threshold, a pair is therefore entailed if
    all models say so, whatever their thresholds. It is contradicted if one of them says so.
    """

    def __init__(
        self,
        members: Sequence[Entailment],
        combine: Literal["min", "mean"] = "min",
        threshold: float | None = None,
    ) -> None:
        self._members = list(members)
        self._combine = combine
        self.threshold = 0.5 if threshold is None else threshold
        told = ", ".join(f"{member.name} ≥ {member.threshold:g}" for member in members)
        self.name = f"{combine}({told})"
        """All models, and how their scores are combined."""

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the combined score of each pair, in order."""
        found = await asyncio.gather(*(member.scores(pairs) for member in self._members))
        return [self._combined(scores) for scores in zip(*found, strict=True)]

    def _combined(self, scores: Sequence[float]) -> Score:
        """Return the combination of all models' scores of a pair."""
        stretched = [
            stretch(score, member.threshold)
            for member, score in zip(self._members, scores, strict=True)
        ]
        told = [said for score in scores if (said := contradiction_of(score)) is not None]
        agreed = min(stretched) if self._combine == "min" else sum(stretched) / len(stretched)
        return Score(agreed, max(told, default=None))
