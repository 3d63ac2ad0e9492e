"""ROUGE-2: how many pairs of neighbouring words two texts share."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from citeproof.tools.sentences import words

__all__ = ["Overlap", "rouge_2"]

_PART = re.compile(r"[^\W_]+")


class Overlap(NamedTuple):
    """Shares of common bigrams, each from 0 to 1."""

    recall: float
    """Of the bigrams of the reference, those that the text has as well."""
    f1: float
    """The harmonic mean of the shares of both texts, the same both ways round: what ROUGE-2 alone
    means."""


def rouge_2(reference: str, text: str) -> Overlap:
    """The ROUGE-2 of a text against a reference (Lin 2004), as the rouge-score library counts it.

    Nothing is stemmed; case and punctuation do not count. Two texts of the same words share
    everything, even a single word that makes no bigram; a text without words shares nothing.
    """
    wanted, said = tokenize(reference), tokenize(text)
    if wanted and wanted == said:
        return Overlap(1.0, 1.0)
    theirs, ours = Counter(pairwise(wanted)), Counter(pairwise(said))
    shared = (theirs & ours).total()
    if not shared:
        return Overlap(0.0, 0.0)
    precision, recall = shared / ours.total(), shared / theirs.total()
    return Overlap(recall, 2 * precision * recall / (precision + recall))


def tokenize(text: str) -> list[str]:
    """The lower-case letters and digits between anything else.

    Of English text it gives what the library's own tokenizer does, which reads ASCII only and
    would leave nothing of other scripts.
    """
    return [part for word in words(text.lower()) for part in _PART.findall(word)]
