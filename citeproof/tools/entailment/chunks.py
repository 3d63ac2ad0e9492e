"""Cuts premise and hypothesis as published verifiers do, and combines the scores of the parts.

`tools/sentences.py` finds the sentences, whereas the published programs use NLTK. A premise that is
not cut reads the same, except for FactCG, which puts each sentence on a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from citeproof.tools.entailment.windows import windows
from citeproof.tools.sentences import sentences

_MARK = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Chunking:
    """A way to cut a premise into chunks of whole sentences."""

    form: Literal["lines", "sentences", "even"]
    """`lines`: joins sentences with spaces, and keeps line breaks (MiniCheck). `sentences`: puts
    each sentence on a line (FactCG). `even`: puts as many sentences in each chunk (AlignScore)."""
    size: int
    """Most units of a chunk; for `even`, the approximate number."""
    unit: Literal["tokens", "words", "marks"]
    """`marks`: words and punctuation marks."""


def cut(premise: str, how: Chunking | None, length: Callable[[str], int]) -> list[str]:
    """Cut a premise into chunks, in order; they do not overlap, and none is empty.

    `length` counts the tokens of a text.
    """
    if how is None:
        return [premise] if premise.strip() else []
    if how.form == "even":
        found = sentences(premise)
        parts = len(premise.split()) // how.size + 1
        each = max(len(found) // parts, 1)
        return [" ".join(found[begin : begin + each]) for begin in range(0, len(found), each)]
    count = {
        "tokens": length,
        "words": lambda text: len(text.split()),
        "marks": lambda text: len(_MARK.findall(text)),
    }[how.unit]
    if how.form == "sentences":
        grouped = ["\n".join(group) for group in _fill(sentences(premise), how.size, count)]
    else:
        pieces: list[str] = []
        for line in premise.split("\n"):
            pieces += [*sentences(line), "\n"]
        grouped = [
            " ".join(group).replace(" \n ", "\n").strip()
            for group in _fill(pieces[:-1], how.size, count)
        ]
    return [chunk for chunk in grouped if chunk]


def fit(text: str, room: int, length: Callable[[str], int]) -> list[str]:
    """Return the text if it has at most `room` tokens, else parts of at most that many.

    Parts are windows of whole sentences, or pieces of a sentence that is longer than `room`.
    """
    if length(text) <= room:
        return [text]
    return [
        piece for window in windows(text, room, length) for piece in _halve(window, room, length)
    ]


def combine(scores: Sequence[Sequence[float]], how: Literal["whole", "mean", "min"]) -> float:
    """Combine the scores of a pair: the best chunk of each sentence, then their mean or minimum.

    Args:
        scores: For each sentence of the hypothesis, the scores of the chunks. A sentence without
            chunks scores 0.
        how: `mean` or `min`; `whole` for a hypothesis that is not cut.
    """
    best = [max(chunks, default=0.0) for chunks in scores]
    if not best:
        return 0.0
    return sum(best) / len(best) if how == "mean" else min(best)


def _fill(pieces: Sequence[str], size: int, count: Callable[[str], int]) -> Iterator[list[str]]:
    """Yield groups of consecutive pieces, as large as fit; a larger piece is its own group."""
    group: list[str] = []
    used = 0
    for piece in pieces:
        more = count(piece)
        if group and used + more > size:
            yield group
            group, used = [], 0
        group.append(piece)
        used += more
    if group:
        yield group


def _halve(text: str, room: int, length: Callable[[str], int]) -> list[str]:
    words = text.split(" ")
    if length(text) <= room or len(words) < 2:
        return [text]
    halves = " ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])
    return [piece for half in halves for piece in _halve(half, room, length)]
