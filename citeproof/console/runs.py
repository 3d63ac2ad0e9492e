"""Runs of a method's graph for the terminal: in this process, or at a server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from citeproof.console.threads import Build, Passing, Thread, resumable, run_with_review
from citeproof.runtime.events import ReviewRequested
from citeproof.runtime.moments import Moment
from citeproof.types import Answer

__all__ = ["Decide", "LocalRuns", "Runs"]

Decide = Callable[[ReviewRequested], Awaitable[dict[str, str]]]
"""Asks a person about a claim; gives what the run is resumed with."""


class Runs(Protocol):
    """Questions to one method, with its parameters."""

    goes_on: bool
    """Whether the last `ask` went on with a run that had been interrupted."""

    @property
    def graph(self) -> Any:
        """The compiled graph, to be drawn."""

    def ask(
        self, question: str, thread: Thread | None, decide: Decide, *, review: bool
    ) -> AsyncGenerator[Moment]:
        """The moments while a question is answered, or its interrupted run goes on."""

    def follow_up(
        self, question: str, thread: Thread | Passing, decide: Decide
    ) -> AsyncGenerator[Moment]:
        """The moments while the next question of a conversation is answered."""

    async def begun(self, thread: Thread | Passing) -> tuple[Answer | None, int]:
        """The last answer of a conversation, and the number of its questions."""

    async def forget(self, thread: Thread | Passing) -> None:
        """Begin a conversation anew."""


@dataclass
class LocalRuns:
    """Runs in this process.

    Args:
        build: Builds the method's graph.
    """

    build: Build
    goes_on: bool = False

    @property
    def graph(self) -> Any:
        """The graph without a checkpointer."""
        return self.build()

    async def ask(
        self, question: str, thread: Thread | None, decide: Decide, *, review: bool
    ) -> AsyncGenerator[Moment]:
        """See `Runs`."""
        async with resumable(self.build, question, thread, review=review) as kept:
            self.goes_on = kept.given is None
            async with aclosing(run_with_review(kept, decide)) as moments:
                async for moment in moments:
                    yield moment

    async def follow_up(
        self, question: str, thread: Thread | Passing, decide: Decide
    ) -> AsyncGenerator[Moment]:
        """See `Runs`."""
        async with thread.opened(self.build) as kept:
            asked = kept._replace(given={"question": question})
            async with aclosing(run_with_review(asked, decide)) as moments:
                async for moment in moments:
                    yield moment

    async def begun(self, thread: Thread | Passing) -> tuple[Answer | None, int]:
        """See `Runs`."""
        async with thread.opened(self.build) as kept:
            values = (await kept.graph.aget_state(kept.config)).values
        said = values.get("messages", ())
        return values.get("answer"), sum(message.type == "human" for message in said)

    async def forget(self, thread: Thread | Passing) -> None:
        """See `Runs`."""
        async with thread.opened(self.build) as kept:
            assert kept.config is not None
            thread_id = kept.config["configurable"]["thread_id"]
            await kept.graph.checkpointer.adelete_thread(thread_id)
