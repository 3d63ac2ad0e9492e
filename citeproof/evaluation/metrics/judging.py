"""Asks an entailment model for many metrics at once: in rounds, each of distinct pairs."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

from citeproof.tools.entailment import Entailment, Pair

_Result = TypeVar("_Result")

Asking = Generator[list[Pair], list[bool], _Result]
"""A metric that asks. It yields pairs, is sent for each of them whether the premise entails the
hypothesis, may ask again after that, and returns its value."""


async def judge(askings: Sequence[Asking[_Result]], entailment: Entailment) -> list[_Result]:
    """The values of metrics that ask, in order.

    All first pairs of all metrics go to the entailment model in one call, then all second ones,
    and so on; of equal pairs one.

    Raises:
        ModelError: The entailment model cannot be had.
    """
    found: dict[int, _Result] = {}
    waiting: dict[int, list[Pair]] = {}

    def send(place: int, verdicts: list[bool] | None) -> None:
        try:
            asking = askings[place]
            waiting[place] = next(asking) if verdicts is None else asking.send(verdicts)
        except StopIteration as end:
            found[place] = end.value

    for place in range(len(askings)):
        send(place, None)
    while waiting:
        asked, waiting = waiting, {}
        pairs = list(dict.fromkeys(pair for own in asked.values() for pair in own))
        scores = await entailment.scores(pairs) if pairs else []
        holds = {
            pair: score >= entailment.threshold for pair, score in zip(pairs, scores, strict=True)
        }
        for place, own in asked.items():
            send(place, [holds[pair] for pair in own])
    return [found[place] for place in range(len(askings))]
