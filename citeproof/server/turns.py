"""How many questions are answered at a time, and how many may wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from citeproof.errors import CiteproofError

__all__ = ["BusyError", "Turn", "Turns"]


class BusyError(CiteproofError):
    """As many questions as may wait are waiting."""

    retry_after = 5
    """Seconds after which to try again."""


class Turn:
    """The turn of one question, which it may leave to others while it waits for a person."""

    def __init__(self, gate: asyncio.Semaphore) -> None:
        self._gate = gate
        self._is_taken = False

    async def take(self) -> None:
        """Wait for it."""
        await self._gate.acquire()
        self._is_taken = True

    def leave(self) -> None:
        """Let others have it."""
        if self._is_taken:
            self._is_taken = False
            self._gate.release()


class Turns:
    """Turns of questions, in the order of their coming.

    Args:
        at_once: How many are answered at a time.
        waiting: How many more may wait.
    """

    def __init__(self, at_once: int, waiting: int) -> None:
        self._gate = asyncio.Semaphore(at_once)
        self._at_once = at_once
        self._most = at_once + waiting
        self._inside = 0

    @property
    def full(self) -> bool:
        """Whether a further question would have to wait."""
        return self._inside >= self._at_once

    def refuse_more(self) -> None:
        """Refuse a question that could not even wait.

        Raises:
            BusyError: There are too many.
        """
        if self._inside >= self._most:
            raise BusyError(
                "Too many requests are waiting",
                fix=f"Try again in {BusyError.retry_after} seconds.",
            )

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Turn]:
        """Wait for a turn, and keep it while the block runs.

        Raises:
            BusyError: There are too many.
        """
        self.refuse_more()
        self._inside += 1
        turn = Turn(self._gate)
        try:
            await turn.take()
            yield turn
        finally:
            turn.leave()
            self._inside -= 1
