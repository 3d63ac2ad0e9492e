"""Two entailment models in a row: a fast one refuses claims, and a slow one has a say in the rest.

The fast one misses errors that the words do not show: among the claims that it would prove, the
judge's score separates true from false far better (area 0.87 against 0.67 on 157 claims made to
mislead, 0.89 against 0.73 on 55 of FoolMeTwice, 0.74 against 0.68 on 48 of WiCE). Neither is best
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from citeproof.tools.entailment.base import Entailment, Pair, Score, blend_odds, halfway, stretch
from citeproof.tools.entailment.details import missing_code, missing_details
from citeproof.tools.entailment.verbatim import is_verbatim


class Cascade:
    """Asks `first` about every pair, and `judge` about those that `first` does not refuse.

    A pair whose first score lies in the band gets a score from both (`blend_odds`). If `first`
    would prove a hypothesis whose number or name the premise lacks, both must prove it, and surely:
    the lower score counts, the judge's on the scale of `first`, and it must reach half-way from the
    threshold to 1. Of 1,085 right claims made of SQuAD questions 2% lack a name and 2% a number. A
    name in code that the premise lacks leaves nothing to ask, nor does a hypothesis that is a
    sentence of its premise: it scores 1. So all scores have one scale and one threshold, that of
    `first`.

    Args:
        first: Scores every pair.
        judge: Gives the model that is asked about the rest; called when the first such pair comes.
        band: Scores of `first`, from and to, that the judge has a say in.
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
        self.first = first
        self.threshold = first.threshold
        self.place = getattr(first, "place", "")
        """The server of `first`; empty for this process."""
        weights = "/".join(f"{weight:g}" for weight in blend)
        decided = f"[{band[0]:g}, {band[1]:g}] {weights} details {halfway(self.threshold):g}"
        self.name = f"{first.name} + {judge_name} {decided} verbatim"
        """Both models, and what decides between them, so that kept scores are not mixed up."""
        self._open = judge
        self._band = band
        self._blend = blend

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The probability of entailment of each pair, in order.

        Raises:
            ModelError: One of the models cannot be loaded.
            ModelOutageError: The judge does not answer.
        """
        asked = [pair for pair in pairs if not is_verbatim(pair.premise, pair.hypothesis)]
        given = dict(zip(asked, await self._scores(asked) if asked else [], strict=True))
        return [given.get(pair, Score(1.0, 0.0)) for pair in pairs]

    @cached_property
    def _judge(self) -> Entailment:
        return self._open()

    async def _scores(self, pairs: Sequence[Pair]) -> list[float]:
        """`scores` of hypotheses that are no sentences of their premises."""
        scores = [
            _halve(score, self.threshold) if missing_code(pair.premise, pair.hypothesis) else score
            for pair, score in zip(pairs, await self.first.scores(pairs), strict=True)
        ]
        low, high = self._band
        lacking = {
            i
            for i, (pair, score) in enumerate(zip(pairs, scores, strict=True))
            if score >= min(low, self.threshold) and missing_details(pair.premise, pair.hypothesis)
        }
        unsure = [i for i, score in enumerate(scores) if low <= score <= high or i in lacking]
        if unsure:
            judged = await self._judge.scores([pairs[i] for i in unsure])
            for i, score in zip(unsure, judged, strict=True):
                against = getattr(scores[i], "contradiction", None)
                onto = stretch(score, self._judge.threshold, self.threshold)
                *weights, constant = self._blend
                both = blend_odds((scores[i], score), weights, constant)
                surely = stretch(min(scores[i], onto), halfway(self.threshold), self.threshold)
                scores[i] = Score(surely if i in lacking else both, against)
        return scores


def _halve(score: float, threshold: float) -> Score:
    """The score, or half of the threshold if that is less."""
    return Score(min(score, threshold / 2), getattr(score, "contradiction", None))
