"""Documents read and cut in Ray actors, for an index that is written here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from citeproof.actors import Actors
from citeproof.memory.ingest import Parse, Read, Reading, read_here

__all__ = ["spread_reading"]

_AHEAD = 4
"""Documents that each actor has at hand."""


def spread_reading(actors: Actors[Any]) -> Reading:
    """How an `Index` reads documents in actors: their bytes travel, no actor needs the files.

    Args:
        actors: With tools of any kind. They stay the caller's to close.
    """

    def begin(read: Parse, data: bytes, words: int) -> Callable[[], Read]:
        return actors.submit(_read, read, data, words).result

    return Reading(begin, _AHEAD * actors.number)


def _read(_: Any, read: Parse, data: bytes, words: int) -> Read:
    return read_here(read, data, words)
