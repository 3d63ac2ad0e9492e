"""ROUGE-2: how many pairs of neighbouring words two texts share."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from citeproof.tools.sentences import words

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer

__all__ = ["Overlap", "rouge_2"]

_PART = re.compile(r"[^\W_]+")


class Overlap(NamedTuple):
    """Shares of common bigrams, each from 0 to 1."""

    precision: float
    """Of the bigrams of the text, those that the reference has as well."""
    recall: float
    """Of the bigrams of the reference, those that the text has as well."""
    f1: float
    """Their harmonic mean, which is what ROUGE-2 alone means; it is the same both ways round."""


def rouge_2(reference: str, text: str) -> Overlap:
    """The ROUGE-2 of a text against a reference (Lin 2004), by the rouge-score library.

    Nothing is stemmed; case and punctuation do not count. Two texts of the same words share
    everything, even a single word that makes no bigram; a text without words shares nothing.
    The first call loads the library, which takes seconds: call it from a thread.
    """
    tokens = tokenize(reference)
    if tokens and tokens == tokenize(text):
        return Overlap(1.0, 1.0, 1.0)
    score = _scorer().score(reference, text)["rouge2"]
    return Overlap(score.precision, score.recall, score.fmeasure)


def tokenize(text: str) -> list[str]:
    """The lower-case letters and digits between anything else.

    Of English text it gives what the library's own tokenizer does, which reads ASCII only and
    would leave nothing of other scripts.
    """
    return [part for word in words(text.lower()) for part in _PART.findall(word)]


@cache
def _scorer() -> RougeScorer:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rouge2"], tokenizer=_Tokenizer())


class _Tokenizer:
    """`tokenize`, as the library calls it."""

    def tokenize(self, text: str) -> list[str]:
        return tokenize(text)
