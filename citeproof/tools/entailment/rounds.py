"""Searches that ask for pairs in rounds; each round of all searches is one call of the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import TypeVar

from citeproof.tools.entailment.base import Pair

_Reply = TypeVar("_Reply")
_Result = TypeVar("_Result")

Asking = Generator[list[Pair], list[_Reply], _Result]
"""A search. It yields pairs, receives the reply to each, may yield more, and returns its result."""


async def ask_in_rounds(
    askings: Sequence[Asking[_Reply, _Result]],
    ask: Callable[[list[Pair]], Awaitable[Sequence[_Reply]]],
) -> list[_Result]:
    """Run searches to their end, and return their results in order.

    One call asks for the first pairs of all searches, the next for their second ones, and so on.
    """
    found: dict[int, _Result] = {}
    waiting: dict[int, list[Pair]] = {}

    def advance(place: int, replies: list[_Reply] | None) -> None:
        try:
            # Python starts a generator by sending it None.
            waiting[place] = askings[place].send(replies)  # type: ignore[arg-type]
        except StopIteration as end:
            found[place] = end.value

    for place in range(len(askings)):
        advance(place, None)
    while waiting:
        asked, waiting = waiting, {}
        pairs = [pair for own in asked.values() for pair in own]
        replies = iter(await ask(pairs) if pairs else ())
        for place, own in asked.items():
            advance(place, [next(replies) for _ in own])
    return [found[place] for place in range(len(askings))]
