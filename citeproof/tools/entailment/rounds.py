"""Searches that ask for scores in rounds; each round of all searches is one call of the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, TypeVar

_Request = TypeVar("_Request")
_Reply = TypeVar("_Reply")
_Result = TypeVar("_Result")

Asking = Generator[list[_Request], list[_Reply], _Result]
"""A search. It yields requests, such as pairs, receives the reply to each, may yield more, and
returns its result."""


async def ask_in_rounds(
    askings: Sequence[Asking[_Request, _Reply, _Result]],
    ask: Callable[[list[_Request]], Awaitable[Sequence[_Reply]]],
) -> list[_Result]:
    """Run searches to their end, and return their results in order.

    One call asks for the first requests of all searches, the next for their second ones, and so on.
    """
    found: dict[int, _Result] = {}
    # Python starts a generator by sending it None.
    replies: dict[int, Any] = dict.fromkeys(range(len(askings)))
    while replies:
        asked: dict[int, list[_Request]] = {}
        for place, own in replies.items():
            try:
                asked[place] = askings[place].send(own)
            except StopIteration as end:
                found[place] = end.value
        requests = [one for own in asked.values() for one in own]
        given = iter(await ask(requests) if requests else ())
        replies = {place: [next(given) for _ in own] for place, own in asked.items()}
    return [found[place] for place in range(len(askings))]
