"""Searches that ask for pairs in rounds; each round of all searches is one call of the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, TypeVar

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
    # Python starts a generator by sending it None.
    replies: dict[int, Any] = dict.fromkeys(range(len(askings)))
    while replies:
        asked: dict[int, list[Pair]] = {}
        for place, own in replies.items():
            try:
                asked[place] = askings[place].send(own)
            except StopIteration as end:
                found[place] = end.value
        pairs = [pair for own in asked.values() for pair in own]
        given = iter(await ask(pairs) if pairs else ())
        replies = {place: [next(given) for _ in own] for place, own in asked.items()}
    return [found[place] for place in range(len(askings))]
