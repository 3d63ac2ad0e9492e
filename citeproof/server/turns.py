"""How many questions are answered at a time, and how many may wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from citeproof.errors import CiteproofError


class BusyError(CiteproofError):
    """As many questions as may wait are waiting."""

    retry_after = 5
    """Seconds after which to try again."""


class Turn:
    """The place of one question in the queue, and its turn once it is taken.

    It may leave the turn to others while it waits for a person.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns, self._gate = turns, turns.gate
        self._is_taken = self._is_closed = False
        turns.inside += 1

    async def take(self) -> None:
        """Wait for it."""
        await self._gate.acquire()
        self._is_taken = True

    def leave(self) -> None:
        """Let others have it."""
        if self._is_taken:
            self._is_taken = False
            self._gate.release()

    def close(self) -> None:
        """Give up the place; a second time does nothing."""
        self.leave()
        if not self._is_closed:
            self._is_closed = True
            self._turns.inside -= 1


class Turns:
    """Turns of questions, in the order of their coming.

    Beside those that are answered `at_once`, so many more may be `waiting`.
    """

    def __init__(self, at_once: int, waiting: int) -> None:
        self.gate = asyncio.Semaphore(at_once)
        self.inside = 0
        """Questions that are answered or wait."""
        self._at_once = at_once
        self._most = at_once + waiting

    @property
    def full(self) -> bool:
        """Whether a question waits."""
        return self.inside > self._at_once

    def refuse_more(self) -> None:
        """Refuse a question that could not even wait.

        Raises:
            BusyError: There are too many.
        """
        if self.inside >= self._most:
            raise BusyError(
                "Too many requests are waiting",
                fix=f"Try again in {BusyError.retry_after} seconds.",
            )

    def queue(self) -> Turn:
        """A place in the queue, to be closed by the caller.

        Raises:
            BusyError: There are too many.
        """
        self.refuse_more()
        return Turn(self)

    @asynccontextmanager
    async def turn(self, queued: Turn | None = None) -> AsyncIterator[Turn]:
        """Wait for a turn, and keep it while the block runs.

        Raises:
            BusyError: There are too many.
        """
        turn = queued or self.queue()
        try:
            await turn.take()
            yield turn
        finally:
            turn.close()
