"""ROUGE-2: how many pairs of neighbouring words two texts share."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from citeproof.tools.sentences import words

__all__ = ["rouge_2", "tokenize"]

_PART = re.compile(r"[^\W_]+")


class Overlap(NamedTuple):
    """Shares of common bigrams, each from 0 to 1."""

    recall: float
    """The share of the reference's bigrams that the text contains."""
    f1: float
    """The harmonic mean of recall and precision, which is symmetric. Plain "ROUGE-2" means this."""


def rouge_2(reference: str, text: str) -> Overlap:
    """Return the ROUGE-2 of a text against a reference (Lin 2004), as rouge-score computes it.

    Nothing is stemmed; case and punctuation do not count. Two texts with the same words in the
    same order score 1, even a single word, which has no bigram. A text without words scores 0.
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
    """Return the runs of letters and digits, in lower case.

    For English text the result is that of the library's own tokenizer, which reads ASCII only and
    would drop all other scripts.
    """
    return [part for word in words(text.lower()) for part in _PART.findall(word)]
