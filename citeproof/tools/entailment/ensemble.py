"""Several entailment models as one: all must agree, or their mean decides."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from citeproof.tools.entailment.base import Entailment, Pair, stretch


class Ensemble:
    """Asks every model about every pair.

    Each model's scores are first stretched, linearly below and above its threshold, so that the
    threshold becomes 0.5. With `min` and the default threshold, a pair is therefore entailed if
    all models say so, whatever their thresholds.
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
        stretched = [
            [stretch(score, member.threshold) for score in scores]
            for member, scores in zip(self._members, found, strict=True)
        ]
        columns = zip(*stretched, strict=True)
        if self._combine == "min":
            return [min(column) for column in columns]
        return [sum(column) / len(column) for column in columns]
