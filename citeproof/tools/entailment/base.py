"""The protocol of entailment models: pairs in, scores out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from citeproof.prompts import context
from citeproof.types import Passage


@dataclass(frozen=True)
class Pair:
    """A premise and a hypothesis."""

    premise: str
    hypothesis: str
    prefix: str = field(default="", compare=False)
    """The premise as the run's language model reads it, with question and fences. A judge that
    begins its prompt with these bytes hits the server's key-value cache."""


class Score(float):
    """The probability that a premise entails a hypothesis, and that it contradicts it."""

    contradiction: float | None
    """From 0.5 on, the premise counts as contradicting. None if the model does not tell."""

    def __new__(cls, entailment: float, contradiction: float | None = None) -> Score:
        """Make a score from both probabilities, each from 0 to 1."""
        score = super().__new__(cls, entailment)
        score.contradiction = contradiction
        return score


def contradiction_of(score: float) -> float | None:
    """Return the probability of contradiction; None if the model does not tell."""
    return getattr(score, "contradiction", None)


def contradicts(score: float) -> bool:
    """Whether the premise contradicts the hypothesis; False if the model does not tell."""
    return (contradiction_of(score) or 0.0) >= 0.5


def rescore(score: float, entailment: float) -> Score:
    """Return a score with another probability of entailment, and the same of contradiction."""
    return Score(entailment, contradiction_of(score))


def halfway(threshold: float) -> float:
    """Return the midpoint of a threshold and 1, the bar for many trials: some pass by chance."""
    return (1 + threshold) / 2


def stretch(score: float, threshold: float, onto: float = 0.5) -> float:
    """Map a score onto a scale with another threshold, linearly below and above it."""
    if score < threshold:
        return onto * score / threshold
    rest = 1.0 - threshold
    return onto + (1.0 - onto) * (score - threshold) / rest if rest else 1.0


def log_odds(score: float) -> float:
    """Return the log-odds of a probability.

    The probability is clipped to 0.001 and 0.999, since a certain one would outweigh all others.
    """
    bounded = min(max(score, 0.001), 0.999)
    return math.log(bounded / (1.0 - bounded))


def blend_odds(scores: Sequence[float], weights: Sequence[float], constant: float = 0.0) -> float:
    """Combine probabilities: the logistic function of the weighted sum of their log-odds."""
    odds = [w * log_odds(score) for w, score in zip(weights, scores, strict=True)]
    return 1.0 / (1.0 + math.exp(-math.fsum([constant, *odds])))


class Entailment(Protocol):
    """A model that scores pairs.

    `scores` returns, in the order of the pairs, the probability (0 to 1) that the premise entails
    the hypothesis. A model that recognises contradictions returns `Score`s. Equal pairs have equal
    scores and are computed once; concurrent callers share batches.

    An expensive model that reads several passages as well as one can set the attribute
    `reads_many = True`. Callers then ask about the passages together first.
    """

    @property
    def name(self) -> str:
        """The model's name in reports."""

    @property
    def threshold(self) -> float:
        """The lowest score that counts as entailed."""

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of entailment of each pair, in order.

        Raises:
            ModelError: The model cannot be loaded or reached, or its scores cannot be used.
            ModelOutageError: A server or language model does not answer.
        """


@runtime_checkable
class QuickEntailment(Entailment, Protocol):
    """A model that scores pairs quickly first, and takes its time for some of them.

    Callers that need only one of several pairs ask about the most promising one first.
    """

    @property
    def final_below(self) -> float:
        """Quick scores below this are those of `scores`; others may become lower or higher."""

    async def quick_scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return quick scores, in order; raises what `scores` does."""


_unread: ContextVar[set[Pair] | None] = ContextVar("citeproof_unread", default=None)


@contextmanager
def collect_unread() -> Iterator[set[Pair]]:
    """Collect the pairs that are marked as unread inside the block."""
    unread = set[Pair]()
    token = _unread.set(unread)
    try:
        yield unread
    finally:
        _unread.reset(token)
    for pair in unread:  # a cache may lie around another
        mark_unread(pair)


def mark_unread(pair: Pair) -> None:
    """Report that the score of a pair stands for a reply that could not be read."""
    if (unread := _unread.get()) is not None:
        unread.add(pair)


def premise(passages: Sequence[Passage]) -> str:
    """Join passages to one premise: title line and text of each, joined by newlines (ALCE)."""
    return "\n".join(passage.premise for passage in passages)


def pair(question: str, passages: Mapping[int, Passage], claim: str) -> Pair:
    """Return the pair that checks a claim against numbered passages, in order of their numbers."""
    ordered = [passages[number] for number in sorted(passages)]
    prefix = context(question, passages) if question else ""
    return Pair(premise(ordered), claim, prefix=prefix)


def question_hypothesis(question: str) -> str:
    """Return a question as a hypothesis, which asks whether the premise answers it.

    citeproof's answerability model was trained for this (see its card); others were not.
    """
    asked = " ".join(question.split()).rstrip("?.! ")
    return f"{asked[:1].upper()}{asked[1:]}?"
