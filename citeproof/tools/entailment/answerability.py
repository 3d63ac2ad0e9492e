"""Whether a text answers a question, and not its opposite."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citeproof.text import QUESTION_WORDS
from citeproof.tools.entailment.base import Entailment, Pair
from citeproof.tools.entailment.opposites import turn_around
from citeproof.tools.entailment.rivals import subtract_leads

_ASKS = re.compile(rf"\b(?:{QUESTION_WORDS})\b", re.IGNORECASE)
_CHANCE, _WEIGHT = 0.25, 2.0
"""See `subtract_leads`; chosen on these pairs."""


class Answerability:
    """A model of answerability that reads a question also turned around.

    A passage on what a dollar is worth to a poor person seems to tell what it is worth to a rich
    one (0.68), and answers the opposite question better (0.85). If the text has the opposite of a
    word of the question, and not the word, that lead is held against it. Of 241 such pairs of SQuAD
    2.0, the model accepts 34 without an answer and 41 with one; this refuses 15 and 3 of them.
    """

    def __init__(self, first: Entailment) -> None:
        self._first = first
        self.name = name_answerability(first.name)
        self.threshold = first.threshold

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability that each text answers its question, in order."""
        scores = await self._first.scores(pairs)
        known = dict(zip(pairs, scores, strict=True))

        async def read(asked: Sequence[Pair]) -> dict[Pair, float]:
            new = [pair for pair in asked if pair not in known]
            return known | dict(zip(new, await self._first.scores(new), strict=True))

        return await subtract_leads(pairs, scores, self.threshold, _turn, read, _CHANCE, _WEIGHT)


def name_answerability(first: str) -> str:
    """Return the name of a model that is read so."""
    return f"{first} and opposites"


def _turn(question: str, text: str) -> list[str]:
    """Return the question turned around; none for yes-or-no questions, which "no" answers."""
    return turn_around(question, text) if _ASKS.search(question) else []
