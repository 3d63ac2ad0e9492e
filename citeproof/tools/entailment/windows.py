"""Cuts a premise that is longer than a model's window into overlapping windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from citeproof.tools.entailment.base import Pair, Score
from citeproof.tools.sentences import split


@dataclass(frozen=True)
class Window:
    """A window of a premise, with the hypothesis that is read after it."""

    pair: int
    """Index of its pair."""
    window: str
    hypothesis: str
    tokens: int
    """Tokens of both together, at most as many as the model reads."""


def token_counter(tokenizer: Any) -> Callable[[str], int]:
    """Return a counter of a text's tokens, without those that the tokenizer adds at its ends."""

    @cache
    def length(text: str) -> int:
        # Not verbose: it would warn that a premise is longer than the window.
        return len(tokenizer.encode(text, add_special_tokens=False, verbose=False))

    return length


def cut_pairs(tokenizer: Any, limit: int, pairs: Sequence[Pair]) -> list[Window]:
    """Cut pairs into the windows that a cross-encoder reads.

    A hypothesis longer than half of what the model reads (`limit`, in tokens) leaves no room, and
    gets no windows.
    """
    length = token_counter(tokenizer)

    @cache
    def cut(premise: str, room: int) -> list[str]:
        return windows(premise, room, length)

    found = []
    for index, pair in enumerate(pairs):
        own = length(pair.hypothesis)
        # Rounded, so that hypotheses of similar length share the windows of a premise.
        room = max(32, (limit - own - 8) // 16 * 16)
        for window in cut(pair.premise, room):
            tokens = length(window) + own + 8
            if tokens <= limit or own <= (limit - 8) // 2:
                found.append(Window(index, window, pair.hypothesis, min(limit, tokens)))
    return found


def best_scores(count: int, items: Sequence[Window], scores: Sequence[Score]) -> list[Score]:
    """Return the score of each pair: the best entailment and contradiction of its windows.

    Of the `count` pairs, one without windows scores 0.
    """
    found: list[list[Score]] = [[] for _ in range(count)]
    for item, score in zip(items, scores, strict=True):
        found[item.pair].append(score)
    return [_best(some) if some else Score(0.0) for some in found]


def _best(scores: Sequence[Score]) -> Score:
    against = [score.contradiction for score in scores if score.contradiction is not None]
    return Score(max(scores), max(against, default=None))


def windows(premise: str, room: int, length: Callable[[str], int]) -> list[str]:
    """Cut a premise into windows of whole sentences that overlap by about half.

    Together they hold every sentence; a premise that fits is returned whole. A sentence with more
    than `room` tokens is a window of its own, which the model's tokenizer then truncates.
    """
    if length(premise) <= room:
        return [premise]
    spans = split(premise)
    lengths = [length(premise[span.start : span.end]) for span in spans]
    cut: list[str] = []
    first = 0
    while first < len(spans):
        last, used = first, lengths[first]
        while last + 1 < len(spans) and used + lengths[last + 1] <= room:
            last += 1
            used += lengths[last]
        cut.append(premise[spans[first].start : spans[last].end])
        if last + 1 == len(spans):
            break
        first = max(first + 1, (first + last + 1) // 2)
    return cut
