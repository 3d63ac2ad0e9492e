"""Runs of a method's graph in this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from citeproof.console.threads import Build, Thread, resumable, run_with_review
from citeproof.runtime.events import ReviewRequested
from citeproof.runtime.moments import Moment
from citeproof.types import Answer

Decide = Callable[[ReviewRequested], Awaitable[dict[str, str]]]
"""Asks a person about a claim; gives what the run is resumed with."""


@dataclass
class LocalRuns:
    """Questions to one method, with its parameters."""

    build: Build
    goes_on: bool = False
    """Whether the last `ask` went on with a run that had been interrupted."""

    @property
    def graph(self) -> Any:
        """The compiled graph without a checkpointer, to be drawn."""
        return self.build()

    async def ask(
        self, question: str, thread: Thread | None, decide: Decide, *, review: bool = False
    ) -> AsyncGenerator[Moment]:
        """The moments while a question is answered, or its interrupted run goes on."""
        async with resumable(self.build, question, thread, review=review) as kept:
            self.goes_on = kept.given is None
            async with aclosing(run_with_review(kept, decide)) as moments:
                async for moment in moments:
                    yield moment

    async def begun(self, thread: Thread) -> tuple[Answer | None, int]:
        """The last answer of a conversation, and the number of its questions."""
        async with thread.opened(self.build) as kept:
            values = (await kept.graph.aget_state(kept.config)).values
        said = values.get("messages", ())
        return values.get("answer"), sum(message.type == "human" for message in said)

    async def forget(self, thread: Thread) -> None:
        """Begin a conversation anew."""
        async with thread.opened(self.build) as kept:
            assert kept.config is not None
            thread_id = kept.config["configurable"]["thread_id"]
            await kept.graph.checkpointer.adelete_thread(thread_id)
