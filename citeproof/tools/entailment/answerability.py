"""Whether a text answers a question, and not its opposite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from citeproof.tools.entailment.base import Entailment, Pair
from citeproof.tools.entailment.opposites import turn_around
from citeproof.tools.entailment.rivals import hold_leads, subtract_lead

_ASKS = re.compile(r"\b(?:who|whom|whose|what|which|when|where|why|how)\b", re.IGNORECASE)
_subtract = partial(subtract_lead, chance=0.25, weight=2.0)


class Answerability:
    """A model of answerability that reads a question also turned around.

    "Diets with too little protein impair immunity" answers which diets with too much do, to a model
    that compares meanings (0.8). If the text has the opposite of a word of the question, and not
    the word, the lead of the opposite question is held against it. Of 241 such pairs of SQuAD 2.0,
    the model accepts 34 without an answer and 41 with one; this refuses 15 and 3 of them.
    """

    def __init__(self, first: Entailment) -> None:
        self._first = first
        self.name = f"{first.name} and opposites"
        self.threshold = first.threshold
        self.place = getattr(first, "place", "")
        """The server of the model; empty for this process."""

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability that each text answers its question, in order."""
        scores = await self._first.scores(pairs)
        return await hold_leads(pairs, scores, self.threshold, _turn, self._read, _subtract)

    async def _read(self, pairs: Sequence[Pair]) -> dict[Pair, float]:
        return dict(zip(pairs, await self._first.scores(pairs), strict=True))


def _turn(question: str, text: str) -> list[str]:
    """Return the question turned around; none for yes-or-no questions, which "no" answers."""
    return turn_around(question, text) if _ASKS.search(question) else []
