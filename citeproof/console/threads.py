"""Runs that are kept step by step, so that what was interrupted goes on where it stopped."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
    nullcontext,
)
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from citeproof.console.checkpoints import Checkpoints, Opened
from citeproof.errors import MissingExtraError, StoreError
from citeproof.runtime.events import ReviewRequested
from citeproof.runtime.moments import STREAM, Moment, NodeFinished, observe

_OUTAGES = ("ModelOutageError", "RetrievalError")
_AUTOMATIC = "run-"
_MOST = 20
"""Runs without a name that are kept; of more the oldest are forgotten."""

Build = Callable[..., Any]
"""Builds a method's graph; takes a `checkpointer`."""


class Kept(NamedTuple):
    """A graph, and the arguments of its `astream`."""

    graph: Any
    given: dict[str, Any] | None
    """None where the run goes on."""
    config: Any = None
    """LangGraph's, with the thread; None where nothing is kept."""
    durability: Literal["sync"] | None = None
    """With a checkpointer, each step is kept before the next one begins."""
    context: Any = None
    """Parameters of the run; None for those that the graph was built with."""


@dataclass
class Thread:
    """A name under which a conversation is kept."""

    name: str
    checkpoints: Checkpoints | None = None
    """Where it is kept; None keeps it in memory, for as long as this object lives."""
    automatic: bool = False
    """Whether nobody has asked for it: then a run that is done is forgotten, and one that cannot
    be kept runs without."""
    is_kept: bool = field(default=False, init=False)
    """Whether there is a run to go on with, once the thread is left."""
    _memory: InMemorySaver = field(default_factory=InMemorySaver, init=False, repr=False)

    @classmethod
    def unnamed(cls, checkpoints: Checkpoints) -> Thread:
        """A thread with a name of its own, for a run that may be cut off."""
        name = f"{_AUTOMATIC}{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        return cls(name, checkpoints, automatic=True)

    @property
    def kind(self) -> Literal["named", "automatic", "passing"]:
        """Whether somebody has named it, and whether it outlives this process."""
        if self.checkpoints is None:
            return "passing"
        return "automatic" if self.automatic else "named"

    @property
    def advice(self) -> str:
        """Advice for a run that did not come to its end; empty if it was not kept."""
        if not self.is_kept:
            return ""
        how = f" with --thread {self.name}" if self.automatic else ""
        return f"The run is kept: asked the same again{how}, it goes on."

    @asynccontextmanager
    async def keeping(self, build: Build, question: str) -> AsyncIterator[Kept]:
        """The graph with a checkpointer, and what to give it.

        A run that was interrupted, or was ended by an outage, goes on if the question is the same.
        Any other question is the next of the conversation.

        Raises:
            MissingExtraError: The checkpointer's package is not installed.
            StoreError: It cannot be read or written.
        """
        async with self._open() as opened:
            kept = self._keep(build, opened)
            graph, config = kept.graph, kept.config
            state = await graph.aget_state(config)
            lost = None if state.next else await _find_outage(graph, config)
            asked = (state.values.get("question"), state.values.get("asked"))
            if (state.next or lost) and question in asked:
                kept = kept._replace(config=lost or config)
            else:
                kept = kept._replace(given={"question": question})
            self.is_kept = True
            yield kept
            if self.automatic:
                if not await _find_outage(graph, config):
                    await graph.checkpointer.adelete_thread(config["configurable"]["thread_id"])
                    self.is_kept = False
                await _forget_oldest(opened)

    @asynccontextmanager
    async def opened(self, build: Build) -> AsyncIterator[Kept]:
        """The graph with a checkpointer, and where it keeps the conversation.

        Raises:
            MissingExtraError: The checkpointer's package is not installed.
            StoreError: It cannot be read or written.
        """
        async with self._open() as opened:
            yield self._keep(build, opened)

    def _open(self) -> AbstractAsyncContextManager[Opened]:
        if self.checkpoints is None:
            return nullcontext(Opened(self._memory))
        return self.checkpoints.opened()

    def _keep(self, build: Build, opened: Opened) -> Kept:
        graph = build(checkpointer=opened.saver)
        # A thread of one method cannot go on with the steps of another.
        config = {"configurable": {"thread_id": f"{graph.name}/{self.name}"}}
        return Kept(graph, None, config, "sync")


@asynccontextmanager
async def resumable(
    build: Build, question: str, thread: Thread | None, *, review: bool
) -> AsyncIterator[Kept]:
    """The graph, and what to give it.

    With `review` it may wait for a person, for as long as this process lives.

    Raises:
        MissingExtraError: The checkpointer's package is not installed.
        StoreError: The thread cannot be read or written.
    """
    async with AsyncExitStack() as held:
        kept: Kept | None = None
        try:
            if thread is not None:
                kept = await held.enter_async_context(thread.keeping(build, question))
        except (MissingExtraError, StoreError):
            if thread is None or not thread.automatic:
                raise
        if kept is None and review:
            kept = await held.enter_async_context(Thread("review").keeping(build, question))
        yield kept or Kept(build(), {"question": question})


async def run_with_review(
    kept: Kept, decide: Callable[[ReviewRequested], Awaitable[dict[str, str]]]
) -> AsyncGenerator[Moment]:
    """The moments of a run up to its end; closed before that, it ends the run.

    `decide` is called where the run waits for a person; it says what to resume it with.
    """
    given: Any = kept.given
    while True:
        how = {"context": kept.context, "durability": kept.durability, **STREAM}
        streamed = kept.graph.astream(given, kept.config, **how)
        async with aclosing(streamed):
            async for part in streamed:
                if moment := observe(*part):
                    yield moment
        if kept.config is None:  # without a checkpointer it cannot wait
            return
        own = {"thread_id": kept.config["configurable"]["thread_id"]}
        thread = {**kept.config, "configurable": own}
        kept = kept._replace(config=thread)  # no more at the step that it went on with
        state = await kept.graph.aget_state(thread)
        if not state.interrupts:
            return
        request = ReviewRequested.model_validate(state.interrupts[0].value)
        given = Command(resume=await decide(request))


def is_outage(moments: Iterable[Moment]) -> bool:
    """Whether a run lost a model or a retriever, and so came to its end too soon."""
    ended = (moment.event for moment in moments if isinstance(moment.event, NodeFinished))
    return any(event.error.startswith(_OUTAGES) for event in ended)


async def _find_outage(graph: Any, config: dict[str, Any]) -> dict[str, Any] | None:
    """Where the last run on a thread lost a model or a retriever, if that ended it."""
    async for state in graph.aget_state_history(config):
        if any(str(task.error or "").startswith(_OUTAGES) for task in state.tasks):
            found: dict[str, Any] = state.config
            return found
        if state.next == ("__start__",):
            break
    return None


async def _forget_oldest(opened: Opened) -> None:
    """Keep the latest of the runs that have no name of their own."""
    found = f"SELECT DISTINCT thread_id FROM checkpoints WHERE thread_id LIKE '%/{_AUTOMATIC}%'"
    names = [name for (name,) in await opened.rows(found)]
    names.sort(key=lambda name: name.rpartition("/")[2])
    for name in names[:-_MOST]:
        await opened.saver.adelete_thread(name)
