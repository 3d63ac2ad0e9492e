"""Conversations, saved step by step where `citeproof ask --thread` saves its runs."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from citeproof.console.threads import Checkpoints, Opened
from citeproof.graphs.registry import METHODS, Method
from citeproof.server.errors import ConflictError, NotFoundError
from citeproof.types import Answer

_MOST = 200
"""Most conversations to list, the latest first."""


@dataclass(frozen=True)
class Turn:
    """A question of a conversation, and its answer."""

    run: str
    """The id of the run that answered it."""
    asked: str
    """The question in the reader's words."""
    answer: Answer
    method: str
    """The method that answered it."""
    at: float
    """When it was asked, in seconds since 1970."""


def as_messages(turns: Sequence[Turn], question: str) -> list[dict[str, str]]:
    """Return the conversation so far and a new question, as roles and contents."""
    said = [
        message
        for turn in turns
        for message in (
            {"role": "user", "content": turn.asked},
            {"role": "assistant", "content": turn.answer.text or turn.answer.reason},
        )
    ]
    return [*said, {"role": "user", "content": question}]


class Conversations:
    """All conversations of a store."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._busy: set[str] = set()
        self._graphs: dict[str, Any] = {}
        self._kept: Opened

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Open the conversations for the block."""
        async with self._checkpoints.opened() as self._kept:
            yield

    @property
    def saver(self) -> Any:
        """LangGraph's checkpointer."""
        return self._kept.saver

    def refuse_another(self, name: str | None) -> None:
        """Refuse to change a conversation that is being answered."""
        if name in self._busy:
            raise ConflictError(
                "This conversation is being answered", fix="Wait for it, or begin another one."
            )

    @contextmanager
    def alone(self, name: str | None) -> Iterator[None]:
        """Allow nothing else to change a conversation, if it has a name, during the block."""
        if name is None:
            yield
            return
        self.refuse_another(name)
        self._busy.add(name)
        try:
            yield
        finally:
            self._busy.discard(name)

    def config(self, method: Method, name: str, turns: Sequence[Turn], asked: str, run: str) -> Any:
        """Make the config of a run that is saved."""
        title = turns[0].asked if turns else asked
        told = {"title": title, "asked": asked, "run": run, "asked_at": time.time()}
        return {"configurable": {"thread_id": f"{method.name}/{name}"}, "metadata": told}

    async def titles(self) -> list[dict[str, Any]]:
        """List the id, title and time of each conversation, the latest first."""
        last = "SELECT MAX(checkpoint_id) FROM checkpoints WHERE checkpoint_ns = '' "
        query = (
            "SELECT thread_id, metadata FROM checkpoints WHERE checkpoint_ns = '' AND "
            f"checkpoint_id IN ({last} GROUP BY thread_id) ORDER BY checkpoint_id DESC "
            f"LIMIT {_MOST}"
        )
        found: dict[str, dict[str, Any]] = {}
        for thread, metadata in await self._kept.rows(query):
            name = thread.partition("/")[2] or thread
            told = metadata if isinstance(metadata, dict) else json.loads(metadata)
            title = told.get("title") or name
            found.setdefault(name, {"id": name, "title": title, "at": told.get("asked_at", 0.0)})
        return list(found.values())

    async def turns(self, name: str) -> list[Turn]:
        """Return the turns of a conversation in order; empty if it is unknown."""
        return await self._turns(await self._threads(name))

    async def known(self, name: str) -> list[Turn]:
        """Return the turns of a conversation; refuse one that is unknown."""
        return await self._turns(await self._known(name))

    async def delete(self, name: str) -> list[Turn]:
        """Delete a conversation and return its turns."""
        with self.alone(name):
            threads = await self._known(name)
            turns = await self._turns(threads)
            for thread in threads:
                await self.saver.adelete_thread(thread)
        return turns

    async def _known(self, name: str) -> list[str]:
        if not (threads := await self._threads(name)):
            raise NotFoundError("There is no such conversation", fix="List them first.")
        return threads

    async def _turns(self, threads: Sequence[str]) -> list[Turn]:
        found: list[Turn] = []
        for thread in threads:
            method = METHODS.get(thread.partition("/")[0])
            if method is not None:
                found += [turn async for turn in self._of_thread(method, thread)]
        return sorted(found, key=lambda turn: turn.at)

    async def _threads(self, name: str) -> list[str]:
        query = "SELECT DISTINCT thread_id FROM checkpoints WHERE checkpoint_ns = ''"
        return [
            thread for (thread,) in await self._kept.rows(query) if thread.partition("/")[2] == name
        ]

    async def _of_thread(self, method: Method, thread: str) -> AsyncIterator[Turn]:
        graph = self._graphs.setdefault(method.name, method.sketch(checkpointer=self.saver))
        config = {"configurable": {"thread_id": thread}}
        ends = [config]
        # The checkpoint before an input is the end of the previous run.
        async for began in graph.aget_state_history(config, filter={"source": "input"}):
            ends += [began.parent_config] if began.parent_config else []
        for place in ends:
            state = await graph.aget_state(place)
            answer, told = state.values.get("answer"), state.metadata or {}
            if not state.next and isinstance(answer, Answer):
                at = float(told.get("asked_at", 0.0))
                run = str(told.get("run") or state.config["configurable"]["checkpoint_id"])
                asked = str(told.get("asked") or answer.question)
                yield Turn(run, asked, answer, method.name, at)
