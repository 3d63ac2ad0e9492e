"""The protocol of retrievers."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from citeproof.errors import InputError
from citeproof.types import Passage


@runtime_checkable
class Retriever(Protocol):
    """Finds passages. Nodes use only this one method.

    A node counts one retrieval for each call. A retriever that searches more often reports the rest
    to the meter.
    """

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return at most `k` different passages, the best first; none for an empty query.

        Raises:
            InputError: `k` is less than 1.
            RetrievalError: The search failed.
            ModelError: A model that it asks does not answer, or cannot be loaded.
        """


def check_k(k: int) -> None:
    """Refuse a number of passages that is too small.

    Raises:
        InputError: `k` is less than 1.
    """
    if k < 1:
        raise InputError(f"{k} passages cannot be retrieved", fix="Ask for at least one.")
