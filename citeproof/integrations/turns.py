"""Limits how many questions are answered at a time, and how many may wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from citeproof.errors import CiteproofError
from citeproof.settings import Settings


def questions_at_once(settings: Settings) -> int:
    """Return how many questions the language models answer at a time: an embedded one takes one."""
    return 1 if any(llm.embedded for llm in settings.llms) else 8


class BusyError(CiteproofError):
    """No further question may wait."""

    retry_after = 5
    """Seconds after which to retry."""


class Turn:
    """The place of one question in the queue, and then its turn.

    A question that waits for a person may leave its turn to others.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._is_taken = False
        self.held = ExitStack()
        """Closed with the place."""
        turns.inside.add(self)

    async def take(self) -> None:
        """Wait for the turn and take it."""
        await self._turns.gate.acquire()
        self._is_taken = True

    def leave(self) -> None:
        """Let others have the turn."""
        if self._is_taken:
            self._is_taken = False
            self._turns.gate.release()

    def close(self) -> None:
        """Give up the place; a second call does nothing."""
        self.leave()
        self._turns.inside.discard(self)
        self.held.close()


class Turns:
    """The turns of questions, in order of arrival.

    `at_once` questions are answered at a time, and `waiting` more may wait.
    """

    def __init__(self, at_once: int = 8, waiting: int = 32) -> None:
        self.gate = asyncio.Semaphore(at_once)
        self.inside: set[Turn] = set()
        """Questions being answered or waiting."""
        self._at_once = at_once
        self._most = at_once + waiting

    @property
    def full(self) -> bool:
        """Whether a question waits."""
        return len(self.inside) > self._at_once

    def refuse_more(self) -> None:
        """Refuse a further question if no more may wait."""
        if len(self.inside) >= self._most:
            fix = f"Try again in {BusyError.retry_after} seconds."
            raise BusyError("Too many requests are waiting", fix=fix)

    def queue(self) -> Turn:
        """Return a place in the queue, which the caller must close."""
        self.refuse_more()
        return Turn(self)

    @asynccontextmanager
    async def turn(self, queued: Turn | None = None) -> AsyncIterator[Turn]:
        """Wait for a turn and hold it for the block."""
        turn = queued or self.queue()
        try:
            await turn.take()
            yield turn
        finally:
            turn.close()
