"""Two entailment models in a row: a fast one rejects claims, and a slow one helps judge the rest.

The fast model misses errors that the wording does not show. Among the claims that it would prove,
the judge's score separates true from false better: its area under the curve is 0.87 against 0.67 on
157 claims made to mislead, 0.89 against 0.73 on 55 of FoolMeTwice, and 0.74 against 0.68 on 48 of
WiCE. Neither is best alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property, partial
from hashlib import blake2s
from typing import TypeAlias

from citeproof.tools.entailment.base import (
    Entailment,
    Pair,
    QuickEntailment,
    Score,
    blend_odds,
    halfway,
    rescore,
    stretch,
)
from citeproof.tools.entailment.code_names import missing_code
from citeproof.tools.entailment.details import missing_details
from citeproof.tools.entailment.verbatim import is_verbatim

_Ask: TypeAlias = Callable[[Sequence[Pair]], Awaitable[list[float]]]

_RULES = 6
"""Increased when the rules around the models change (details, identity), for the cached scores."""


class Cascade:
    """Scores pairs with `first`, and consults `judge` about those that `first` does not reject.

    All scores are on the scale of `first` and share its threshold:

    - If the first score lies in the band, the score blends both models (`blend_odds`).
    - If the premise lacks a number or name of a hypothesis that `first` does not reject, both
      models must prove it clearly: the lower score counts, with the judge's mapped onto the scale
      of `first`, and must reach the midpoint between the threshold and 1. Of 1,085 correct claims
      made from SQuAD questions, 2% have a name that the premise lacks and 2% a number.
    - If the premise lacks a name in code, the score is at most half of the threshold. The default
      band begins above that, so the judge is not consulted.
    - If the hypothesis is a sentence of its premise, it scores 1 without any model.

    Args:
        first: Scores every pair.
        judge: Opens the judge; called when the first pair needs it.
        band: Lowest and highest score of `first` that the judge is consulted about; from the
            threshold on if that is lower.
        blend: Weights of the log-odds of `first` and of the judge, and a constant.
        judge_name: The judge's name in reports.
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
        self._quick = first.quick_scores if isinstance(first, QuickEntailment) else first.scores
        self.threshold = first.threshold
        self.place = getattr(first, "place", "")
        """The server of `first`; empty for this process."""
        low, high = band
        self._band = (min(low, self.threshold), high)
        decided = repr((self._band, blend, self.threshold, _RULES)).encode()
        self.name = f"{first.name} + {judge_name} ({blake2s(decided, digest_size=3).hexdigest()})"
        """Both models, and a hash of what decides between them: cached scores do not mix."""
        self._open = judge
        self._blend = blend

    @property
    def final_below(self) -> float:
        """The lowest score of `first` that the judge is consulted about."""
        return self._band[0]

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of entailment of each pair, in order."""
        return await _score_others(pairs, self._scores)

    async def quick_scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the scores of `first` alone, its quick ones if it has such."""
        return await _score_others(pairs, partial(self._first_scores, self._quick))

    @cached_property
    def _judge(self) -> Entailment:
        return self._open()

    async def _scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return `scores` of hypotheses that are not sentences of their premises."""
        scores = await self._first_scores(self.first.scores, pairs)
        low, high = self._band
        lacking = {
            i
            for i, (pair, score) in enumerate(zip(pairs, scores, strict=True))
            if score >= low and missing_details(pair.premise, pair.hypothesis)
        }
        unsure = [i for i, score in enumerate(scores) if low <= score <= high or i in lacking]
        if unsure:
            judged = await self._judge.scores([pairs[i] for i in unsure])
            for i, score in zip(unsure, judged, strict=True):
                onto = stretch(score, self._judge.threshold, self.threshold)
                *weights, constant = self._blend
                both = blend_odds((scores[i], score), weights, constant)
                surely = stretch(min(scores[i], onto), halfway(self.threshold), self.threshold)
                scores[i] = rescore(scores[i], surely if i in lacking else both)
        return scores

    async def _first_scores(self, ask: _Ask, pairs: Sequence[Pair]) -> list[float]:
        """Return the scores of `first`, low where the premise lacks a name in code."""
        return [
            rescore(score, min(score, self.threshold / 2))
            if missing_code(pair.premise, pair.hypothesis)
            else score
            for pair, score in zip(pairs, await ask(pairs), strict=True)
        ]


async def _score_others(pairs: Sequence[Pair], ask: _Ask) -> list[float]:
    """Score pairs, with 1 for those whose hypothesis is a sentence of its premise."""
    asked = [pair for pair in pairs if not is_verbatim(pair.premise, pair.hypothesis)]
    given = dict(zip(asked, await ask(asked) if asked else [], strict=True))
    return [given.get(pair, Score(1.0, 0.0)) for pair in pairs]
