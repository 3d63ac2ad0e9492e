"""Runs that are kept step by step, so that what was interrupted goes on where it stopped."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from citeproof.errors import MissingExtraError, StoreError
from citeproof.tools.events import ReviewRequested
from citeproof.tools.moments import STREAM, Moment, observe

__all__ = ["Build", "Kept", "Passing", "Thread", "resumable", "told"]


Build = Callable[..., Any]
"""Builds a method's graph; takes a `checkpointer`."""


class Kept(NamedTuple):
    """What to stream, and how: arguments of `graph.astream`."""

    graph: Any
    given: dict[str, Any] | None
    """None where the run goes on."""
    config: dict[str, Any] | None = None
    durability: Literal["sync"] | None = None
    """With a checkpointer, each step is kept before the next one begins."""


class Passing:
    """A conversation that is kept for as long as this process lives."""

    name = "chat"

    def __init__(self) -> None:
        self._saver = InMemorySaver()

    @asynccontextmanager
    async def opened(self, build: Build) -> AsyncIterator[Kept]:
        """The graph with a checkpointer, and where it keeps the conversation."""
        yield _kept(build(checkpointer=self._saver), self.name)


@dataclass(frozen=True)
class Thread:
    """A name under which a conversation is kept in a file `threads.sqlite`."""

    name: str
    folder: Path

    @asynccontextmanager
    async def keeping(self, build: Build, question: str) -> AsyncIterator[Kept]:
        """The graph with a checkpointer, and what to give it.

        A run that was interrupted goes on if the question is the same. Any other question is the
        next of the conversation.

        Raises:
            MissingExtraError: The checkpointer's package is not installed.
            StoreError: The file cannot be read or written.
        """
        async with self.opened(build) as kept:
            state = await kept.graph.aget_state(kept.config)
            asked = (state.values.get("question"), state.values.get("asked"))
            goes_on = bool(state.next) and question in asked
            yield kept._replace(given=None if goes_on else {"question": question})

    @asynccontextmanager
    async def opened(self, build: Build) -> AsyncIterator[Kept]:
        """The graph with a checkpointer, and where it keeps the conversation.

        Raises:
            MissingExtraError: The checkpointer's package is not installed.
            StoreError: The file cannot be read or written.
        """
        what = "To keep a run, citeproof needs LangGraph's SQLite checkpointer"
        with MissingExtraError.unless_installed("sqlite", what):
            from aiosqlite import Error
            from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
        file = self.folder / "threads.sqlite"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            async with AsyncSqliteSaver.from_conn_string(str(file)) as saver:
                yield _kept(build(checkpointer=saver), self.name)._replace(durability="sync")
        except (OSError, Error) as error:
            raise StoreError(
                f"The run cannot be kept in {file}",
                why=str(error),
                fix="Make sure that you may write there, or delete the file.",
            ) from error


def _kept(graph: Any, name: str) -> Kept:
    # A thread of one method cannot go on with the steps of another.
    return Kept(graph, None, {"configurable": {"thread_id": f"{graph.name}/{name}"}})


@asynccontextmanager
async def resumable(
    build: Build, question: str, thread: Thread | None, *, review: bool
) -> AsyncIterator[Kept]:
    """The graph, and what to give it.

    Args:
        build: Builds the method's graph.
        question: What to ask it.
        thread: Where the run is kept, if anywhere.
        review: Whether it may have to wait for a person, for as long as this process lives.

    Raises:
        MissingExtraError: The checkpointer's package is not installed.
        StoreError: The thread's file cannot be read or written.
    """
    if thread is not None:
        async with thread.keeping(build, question) as kept:
            yield kept
    elif review:
        graph = build(checkpointer=InMemorySaver())
        yield Kept(graph, {"question": question}, {"configurable": {"thread_id": graph.name}})
    else:
        yield Kept(build(), {"question": question})


async def told(
    kept: Kept, decide: Callable[[ReviewRequested], dict[str, str]]
) -> AsyncIterator[Moment]:
    """What happens in a run up to its end.

    Args:
        kept: The run.
        decide: Called where the run waits for a person; says what to resume it with.
    """
    given: Any = kept.given
    while True:
        streamed = kept.graph.astream(given, kept.config, durability=kept.durability, **STREAM)
        async for part in streamed:
            if moment := observe(*part):
                yield moment
        if kept.config is None:  # without a checkpointer it cannot wait
            return
        state = await kept.graph.aget_state(kept.config)
        if not state.interrupts:
            return
        given = Command(resume=decide(ReviewRequested.model_validate(state.interrupts[0].value)))
