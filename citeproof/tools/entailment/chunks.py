"""Cuts premise and hypothesis as published verifiers do, and makes one score of the parts.

Sentences are this package's own (`tools/sentences.py`), where the publications use NLTK's. The
text of a premise that is not cut is the same, but for FactCG, which reads a sentence a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from citeproof.tools.entailment.windows import windows
from citeproof.tools.sentences import split

_MARK = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Chunking:
    """How a premise is cut into chunks of whole sentences."""

    form: Literal["lines", "sentences", "even"]
    """`lines`: sentences are joined by spaces, and line breaks stay (MiniCheck). `sentences`: each
    sentence becomes a line (FactCG). `even`: chunks of equally many sentences (AlignScore)."""
    size: int
    """Most units of a chunk; of `even`, how many it has about."""
    unit: Literal["tokens", "words", "marks"]
    """`marks`: words and punctuation marks."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, without space around them."""
    return [text[span.start : span.end] for span in split(text)]


def cut(premise: str, how: Chunking | None, length: Callable[[str], int]) -> list[str]:
    """The chunks of a premise, in order; they have no overlap, and none is empty.

    Args:
        premise: The text to cut.
        how: By default it stays whole.
        length: Tokens of a text.
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
    """The text itself where it has at most `room` tokens, else parts that have.

    Parts are windows of whole sentences, or pieces of a sentence that is longer than that.
    """
    if length(text) <= room:
        return [text]
    return [
        piece for window in windows(text, room, length) for piece in _halve(window, room, length)
    ]


def combine(scores: Sequence[Sequence[float]], how: Literal["whole", "mean", "min"]) -> float:
    """One score of a pair: the best chunk of each sentence, then their mean or minimum.

    Args:
        scores: For each sentence of the hypothesis, those of the chunks. A sentence that no
            chunk could be read with scores 0.
        how: `whole`: there is one sentence.
    """
    best = [max(chunks, default=0.0) for chunks in scores]
    if not best:
        return 0.0
    return sum(best) / len(best) if how == "mean" else min(best)


def _fill(pieces: Sequence[str], size: int, count: Callable[[str], int]) -> Iterator[list[str]]:
    """Groups of consecutive pieces that are as large as fits; a larger piece is its own group."""
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
