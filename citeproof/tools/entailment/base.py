"""The protocol of entailment models: pairs in, scores out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from citeproof.prompts import context
from citeproof.types import Passage


@dataclass(frozen=True)
class Pair:
    """A premise and a hypothesis."""

    premise: str
    hypothesis: str
    prefix: str = field(default="", compare=False)
    """The premise as the run's language model reads it, question and fences included. A judge whose
    prompt begins with these bytes finds them in the server's key-value cache."""


class Score(float):
    """The probability that a premise entails a hypothesis, and that it says otherwise."""

    contradiction: float | None
    """From 0.5 on the premise counts as saying otherwise. None where the model does not tell."""

    def __new__(cls, entailment: float, contradiction: float | None = None) -> Score:
        """Both probabilities, from 0 to 1."""
        score = super().__new__(cls, entailment)
        score.contradiction = contradiction
        return score


def contradicts(score: float) -> bool:
    """Whether the premise says otherwise; False if its model does not tell."""
    contradiction = getattr(score, "contradiction", None)
    return contradiction is not None and contradiction >= 0.5


def halfway(threshold: float) -> float:
    """Half-way from a threshold to 1: required if many are tried, since some pass by chance."""
    return (1 + threshold) / 2


def stretch(score: float, threshold: float, onto: float = 0.5) -> float:
    """A score on a scale with another threshold: a straight line below it, and one above."""
    if score < threshold:
        return onto * score / threshold
    rest = 1.0 - threshold
    return onto + (1.0 - onto) * (score - threshold) / rest if rest else 1.0


def blend_odds(scores: Sequence[float], weights: Sequence[float], constant: float = 0.0) -> float:
    """One probability of several: the logistic function of a weighted sum of their log-odds.

    One that is quite certain counts as 0.001 or 0.999, or it would outweigh all others.
    """
    bounded = [min(max(score, 0.001), 0.999) for score in scores]
    odds = [math.log(score / (1.0 - score)) for score in bounded]
    return 1.0 / (
        1.0 + math.exp(-math.fsum([constant, *(w * o for w, o in zip(weights, odds, strict=True))]))
    )


class Entailment(Protocol):
    """A model that scores pairs.

    `scores` gives, in the order of the pairs, the probability (0 to 1) that the premise entails
    the hypothesis; a model that knows contradictions gives `Score`s. Equal pairs have equal scores
    and are computed once; concurrent callers share batches.

    An expensive model that reads several passages as well as one may say so with an attribute
    `reads_many = True`; it is then asked about them together first.
    """

    @property
    def name(self) -> str:
        """The model, as reports name it."""

    @property
    def threshold(self) -> float:
        """Scores from here on count as entailed."""

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The probability of entailment of each pair, in order."""


def premise(passages: Sequence[Passage]) -> str:
    """Passages as one premise: title line and text each, joined by newlines (ALCE)."""
    return "\n".join(passage.premise for passage in passages)


def pair(question: str, passages: Mapping[int, Passage], claim: str) -> Pair:
    """The pair that checks a claim against numbered passages, in order of their numbers."""
    ordered = [passages[number] for number in sorted(passages)]
    prefix = context(question, passages) if question else ""
    return Pair(premise(ordered), claim, prefix=prefix)


def question_hypothesis(question: str) -> str:
    """A question in the place of a hypothesis: does the premise answer it?

    citeproof's own model was trained to tell (its card); others were not.
    """
    asked = " ".join(question.split()).rstrip("?.! ")
    return f"{asked[:1].upper()}{asked[1:]}?"
