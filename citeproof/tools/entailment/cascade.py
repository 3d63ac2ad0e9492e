"""Two entailment models in a row: a fast one decides where it is sure, a slow one where not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from citeproof.tools.entailment.base import Entailment, Pair, Score, stretch
from citeproof.tools.entailment.details import missing_details

__all__ = ["Cascade"]


class Cascade:
    """Asks `first` about every pair, and `judge` only about those that `first` is unsure of.

    A pair whose first score lies in the band gets a score from both: the logistic function of a
    weighted sum of their log-odds. What `first` would prove though the premise lacks a number or a
    name of the hypothesis, both must prove: the lower score counts, the judge's on the scale of
    `first`. So all scores have one scale and one threshold, that of `first`.

    Args:
        first: Scores every pair.
        judge: Gives the model that is asked about the rest; called when the first such pair comes.
        band: Scores of `first`, from and below, that are not sure.
        blend: Weights of the log-odds of `first`, of those of the judge, and of 1.
        judge_name: How reports name the judge.
    """

    def __init__(
        self,
        first: Entailment,
        judge: Callable[[], Entailment],
        *,
        band: tuple[float, float],
        blend: tuple[float, float, float] = (0.5, 0.5, 0.0),
        judge_name: str = "judge",
    ) -> None:
        self._first = first
        self._open = judge
        self._judge: Entailment | None = None
        self._judge_name = judge_name
        self._band = band
        self._blend = blend

    @property
    def name(self) -> str:
        """Both models, and what decides between them, so that kept scores are not mixed up."""
        low, high = self._band
        weights = "/".join(f"{weight:g}" for weight in self._blend)
        return f"{self._first.name} + {self._judge_name} [{low:g}, {high:g}) {weights}"

    @property
    def first(self) -> Entailment:
        """The model that scores every pair."""
        return self._first

    @property
    def threshold(self) -> float:
        """Scores from here on count as entailed."""
        return self._first.threshold

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The probability of entailment of each pair, in order.

        Raises:
            ModelError: One of the models cannot be loaded.
            ModelOutageError: The judge does not answer.
        """
        scores = await self._first.scores(pairs)
        low, high = self._band
        lacking = {
            i
            for i, (pair, score) in enumerate(zip(pairs, scores, strict=True))
            if score >= min(low, self.threshold) and missing_details(pair.premise, pair.hypothesis)
        }
        unsure = [i for i, score in enumerate(scores) if low <= score < high or i in lacking]
        if unsure:
            if self._judge is None:
                self._judge = self._open()
            judged = await self._judge.scores([pairs[i] for i in unsure])
            for i, score in zip(unsure, judged, strict=True):
                against = getattr(scores[i], "contradiction", None)
                onto = stretch(score, self._judge.threshold, self.threshold)
                both = min(scores[i], onto) if i in lacking else self._combine(scores[i], score)
                scores[i] = Score(both, against)
        return scores

    def _combine(self, first: float, judged: float) -> float:
        of_first, of_judge, constant = self._blend
        odds = of_first * _log_odds(first) + of_judge * _log_odds(judged) + constant
        return 1.0 / (1.0 + math.exp(-odds))


def _log_odds(probability: float) -> float:
    # A model that is quite certain must not outweigh the other by an infinite amount.
    bounded = min(max(probability, 0.001), 0.999)
    return math.log(bounded / (1.0 - bounded))
