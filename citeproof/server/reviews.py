"""Claims that wait until a person has decided on them."""

from __future__ import annotations

import asyncio

from citeproof.server.errors import NotFoundError
from citeproof.server.turns import Turn


class Reviews:
    """The decisions that runs wait for, by the id of the run."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[dict[str, str]]] = {}

    def expect(self, run: str) -> None:
        """Take decisions for a run from now on; its claim is about to be shown."""
        self._waiting[run] = asyncio.get_running_loop().create_future()

    async def decision(self, run: str, turn: Turn) -> dict[str, str]:
        """The decision of a person, as soon as it is there; others have the turn meanwhile."""
        turn.leave()
        try:
            decision = await self._waiting[run]
        finally:
            del self._waiting[run]
        await turn.take()
        return decision

    def decide(self, run: str, decision: dict[str, str]) -> None:
        """Let a run go on.

        Raises:
            NotFoundError: It waits for nothing.
        """
        waiting = self._waiting.get(run)
        if waiting is None or waiting.done():
            raise NotFoundError("No claim waits for a decision", fix="Ask the question again.")
        waiting.set_result(decision)
