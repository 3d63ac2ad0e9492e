"""A single node: its scripted model, its graph, its events and notes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar, get_type_hints

from citeproof import LLM
from citeproof.agents.base import LLMNode, Node
from citeproof.runtime.meter import Meter, use_meter
from citeproof.testing import ScriptedChatModel
from tests.chain import chain

N = TypeVar("N", bound=LLMNode)


def asking(kind: type[N], /, *replies: Any, **knobs: Any) -> tuple[N, ScriptedChatModel]:
    """A node, and its model with the replies in order."""
    model = ScriptedChatModel(replies)
    return kind(LLM(model), **knobs), model


async def noted(update: Awaitable[Any]) -> tuple[Any, list[str]]:
    """A node's update, and its notes."""
    with use_meter(Meter()) as meter:
        return await update, meter.notes


def graph_of(node: Node, **options: Any) -> Any:
    """The compiled graph of a node named `node`, with the state that it reads."""
    state = get_type_hints(node.__call__)["state"]
    return chain(state, node=node).compile(**options)


async def told(node: Node, given: Any) -> list[Any]:
    """The events that the node emits."""
    return [event async for event in graph_of(node).astream(given, stream_mode="custom")]


class SlowLLM(LLM):
    """Records the number of concurrent calls, and their sample numbers."""

    def __init__(self, reply: str) -> None:
        super().__init__(ScriptedChatModel([]), role="answerer")
        self.reply = reply
        self.now = self.most = 0
        self.samples: list[int] = []

    async def text(self, prompt: Any, *, sample: int = 0, **options: Any) -> str:
        """Let the others begin before this call ends."""
        self.samples.append(sample)
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.01)
        self.now -= 1
        return self.reply


class Log:
    """Stand-in for the evidence log: keeps the records, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.records: list[dict[str, Any]] = []
        self.error = error

    async def record(self, **values: Any) -> None:
        """Keep the values, or fail."""
        if self.error:
            raise self.error
        self.records.append(values)
