"""Saves runs step by step, so an interrupted run resumes where it stopped.

Runs are saved in a file of the store, or in PostgreSQL.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from citeproof.errors import InputError, MissingExtraError, StoreError
from citeproof.runtime.events import ReviewRequested
from citeproof.runtime.moments import STREAM, Moment, NodeFinished, observe
from citeproof.settings import Settings

_PATIENCE = 10
"""Seconds to wait for a connection to PostgreSQL."""
_Rows = Callable[[str], Awaitable[list[tuple[Any, ...]]]]
_OUTAGES = ("ModelOutageError", "RetrievalError", "VerifierOutageError")
_AUTOMATIC = "run-"
_IS_AUTOMATIC = re.compile(rf"/{_AUTOMATIC}\d{{8}}-\d{{6}}-[\da-f]{{4}}\Z")
"""Matches the generated names only: a user's own thread may be called run-1."""
_MOST = 20
"""Most unnamed runs to keep; older ones are deleted."""

Build = Callable[..., Any]
"""Builds a method's graph; takes a `checkpointer`."""


class Opened(NamedTuple):
    """An open checkpointer with tables."""

    saver: Any
    """LangGraph's checkpointer."""
    rows: _Rows
    """Queries its tables, in SQL that both databases understand."""


@dataclass(frozen=True)
class Checkpoints:
    """The checkpointer that the setting `checkpointer` names."""

    folder: Path
    """The store's folder, which holds `threads.sqlite`."""
    where: str = "sqlite"
    """`sqlite`, or the address of a PostgreSQL database."""

    @classmethod
    def of(cls, settings: Settings) -> Checkpoints:
        """Take the checkpointer from the settings."""
        return cls(settings.chroma.path, settings.checkpointer)

    def opened(self) -> contextlib.AbstractAsyncContextManager[Opened]:
        """Open the checkpointer for the block, and create its tables if they are missing."""
        return self._file() if self.where == "sqlite" else _database(self.where)

    @contextlib.asynccontextmanager
    async def _file(self) -> AsyncIterator[Opened]:
        what = "To keep a run, citeproof needs LangGraph's SQLite checkpointer"
        with MissingExtraError.unless_installed("sqlite", what):
            from aiosqlite import Error
            from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
        file = self.folder / "threads.sqlite"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            async with AsyncSqliteSaver.from_conn_string(str(file)) as saver:
                await saver.setup()

                async def rows(query: str) -> list[tuple[Any, ...]]:
                    return [tuple(row) for row in await saver.conn.execute_fetchall(query)]

                yield Opened(saver, rows)
        except (OSError, Error) as error:
            raise StoreError(
                f"The run cannot be kept in {file}",
                why=str(error),
                fix="Make sure that you may write there, or move the file away.",
            ) from error


@contextlib.asynccontextmanager
async def _database(address: str) -> AsyncIterator[Opened]:
    what = "To keep runs in PostgreSQL, citeproof needs LangGraph's checkpointer for it"
    with MissingExtraError.unless_installed("postgres", what):
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
        from psycopg import AsyncConnection, Error
        from psycopg.rows import DictRow, dict_row
        from psycopg_pool import AsyncConnectionPool
    how: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    try:
        # A pool retries silently; a single connection reports at once what is wrong.
        opening = AsyncConnection.connect(address, connect_timeout=_PATIENCE, **how)
        async with await opening as first:
            await AsyncPostgresSaver(first).setup()
        # Replaces connections that the server has dropped meanwhile.
        check = AsyncConnectionPool.check_connection
        made: AsyncConnectionPool[AsyncConnection[DictRow]]
        made = AsyncConnectionPool(address, min_size=1, open=False, kwargs=how, check=check)
        async with made as pool:

            async def rows(query: str) -> list[tuple[Any, ...]]:
                async with pool.connection() as connection:
                    found = await connection.execute(query.encode())
                    return [tuple(row.values()) for row in await found.fetchall()]

            yield Opened(AsyncPostgresSaver(pool), rows)
    except Error as error:
        raise StoreError(
            "The run cannot be kept in PostgreSQL",
            why=" ".join(str(error).split()),
            fix="Make sure that the server of `checkpointer` runs and that you may write there.",
        ) from error


class Kept(NamedTuple):
    """A graph, and the arguments of its `astream`."""

    graph: Any
    given: dict[str, Any] | None
    """Input of the run; None if it resumes."""
    config: Any = None
    """LangGraph's config, with the thread; None if nothing is saved."""
    context: Any = None
    """Parameters of the run; None for those that the graph was built with."""


@dataclass
class Thread:
    """A name under which a conversation is kept."""

    name: str
    checkpoints: Checkpoints | None = None
    """Where it is kept; None keeps it in memory while this object lives."""
    automatic: bool = False
    """Whether the user did not ask for it. A finished run is then deleted, and a run that cannot
    be saved runs without a checkpointer."""
    is_kept: bool = field(default=False, init=False)
    """Whether a run is left to resume when the thread is closed."""
    _memory: InMemorySaver = field(default_factory=InMemorySaver, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.name.strip():  # such as from a variable of the shell that is not set
            raise InputError("The thread has no name", fix="Give one, or leave out --thread.")

    @classmethod
    def unnamed(cls, checkpoints: Checkpoints) -> Thread:
        """Make a thread with a generated name, for a run that may be interrupted."""
        name = f"{_AUTOMATIC}{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        return cls(name, checkpoints, automatic=True)

    @property
    def kind(self) -> Literal["named", "automatic", "passing"]:
        """Whether the user named the thread, and whether it outlives this process."""
        if self.checkpoints is None:
            return "passing"
        return "automatic" if self.automatic else "named"

    @property
    def advice(self) -> str:
        """Advice for a run that did not finish; empty if it was not saved."""
        if not self.is_kept:
            return ""
        how = f" with --thread {self.name}" if self.automatic else ""
        return f"The run is saved: ask the same question again{how} to resume it."

    @contextlib.asynccontextmanager
    async def keeping(self, build: Build, question: str) -> AsyncIterator[Kept]:
        """Build the graph with a checkpointer, and the arguments of its run.

        The same question resumes a run that was interrupted or ended by an outage. Any other
        question continues the conversation.
        """
        async with self.opened(build) as kept:
            graph, config = kept.graph, kept.config
            state = await graph.aget_state(config)
            lost = None if state.next else await _find_outage(graph, config)
            asked = (state.values.get("question"), state.values.get("asked"))
            start = config
            if (state.next or lost) and question in asked:
                start = lost or config
            else:
                kept = kept._replace(given={"question": question})
            # The server lists and sorts the questions of a conversation by these.
            title = (state.metadata or {}).get("title", question)
            told = {"title": title, "asked": question, "asked_at": time.time()}
            kept = kept._replace(config={**start, "metadata": told})
            self.is_kept = True
            yield kept
            if self.automatic and not await _find_outage(graph, config):
                await graph.checkpointer.adelete_thread(config["configurable"]["thread_id"])
                self.is_kept = False

    @contextlib.asynccontextmanager
    async def opened(self, build: Build) -> AsyncIterator[Kept]:
        """Build the graph with a checkpointer, and the config of the conversation."""
        if self.checkpoints is None:
            yield self._kept(build(checkpointer=self._memory))
            return
        async with self.checkpoints.opened() as opened:
            yield self._kept(build(checkpointer=opened.saver))
            if self.automatic:
                await _forget_oldest(opened)

    def _kept(self, graph: Any) -> Kept:
        # A thread of one method cannot resume the steps of another.
        return Kept(graph, None, {"configurable": {"thread_id": f"{graph.name}/{self.name}"}})


@contextlib.asynccontextmanager
async def resumable(
    build: Build, question: str, thread: Thread | None, *, review: bool
) -> AsyncIterator[Kept]:
    """Build the graph, and the arguments of its run.

    With `review`, the run may wait for a person while this process lives.
    """
    kept: Kept | None = None
    async with contextlib.AsyncExitStack() as held:
        for own in filter(None, (thread, Thread("review") if review else None)):
            try:
                kept = await held.enter_async_context(own.keeping(build, question))
                break
            except (MissingExtraError, StoreError):
                if not own.automatic:
                    raise
        yield kept or Kept(build(), {"question": question})


async def run_with_review(
    kept: Kept, decide: Callable[[ReviewRequested], Awaitable[dict[str, str]]]
) -> AsyncGenerator[Moment]:
    """Yield the moments of a run up to its end; closing the generator earlier ends the run.

    `decide` is called when the run waits for a person, and returns the decision to resume it with.
    """
    given: Any = kept.given
    # Each step is saved before the next one begins.
    how = {"context": kept.context, "durability": "sync" if kept.config else None, **STREAM}
    while True:
        streamed = kept.graph.astream(given, kept.config, **how)
        async with contextlib.aclosing(streamed):
            async for part in streamed:
                if moment := observe(*part):
                    yield moment
        if kept.config is None:  # without a checkpointer, a run cannot wait
            return
        own = {"thread_id": kept.config["configurable"]["thread_id"]}
        thread = {**kept.config, "configurable": own}
        kept = kept._replace(config=thread)  # no longer at the step where it resumed
        state = await kept.graph.aget_state(thread)
        if not state.interrupts:
            return
        request = ReviewRequested.model_validate(state.interrupts[0].value)
        given = Command(resume=await decide(request))


def is_outage(moments: Iterable[Moment]) -> bool:
    """Return whether a run ended early because it lost a model or a retriever."""
    ended = (moment.event for moment in moments if isinstance(moment.event, NodeFinished))
    return any(event.error.startswith(_OUTAGES) for event in ended)


async def _find_outage(graph: Any, config: dict[str, Any]) -> dict[str, Any] | None:
    """Find the checkpoint at which the last run of a thread lost a model or a retriever, if any."""
    async for state in graph.aget_state_history(config):
        if any(str(task.error or "").startswith(_OUTAGES) for task in state.tasks):
            found: dict[str, Any] = state.config
            return found
        if state.next == ("__start__",):
            break
    return None


async def _forget_oldest(opened: Opened) -> None:
    found = f"SELECT DISTINCT thread_id FROM checkpoints WHERE thread_id LIKE '%/{_AUTOMATIC}%'"
    names = [name for (name,) in await opened.rows(found) if _IS_AUTOMATIC.search(name)]
    names.sort(key=lambda name: name.rpartition("/")[2])
    for name in names[:-_MOST]:
        await opened.saver.adelete_thread(name)
