"""A graph of a single node, whose state is the part that the node reads."""

from __future__ import annotations

import asyncio
from typing import Any, get_type_hints

from citeproof import LLM
from citeproof.agents.base import Node
from citeproof.testing import ScriptedChatModel
from tests.chain import chain


def graph_of(node: Node, **options: Any) -> Any:
    """The compiled graph; its node is called `node`."""
    state = get_type_hints(node.__call__)["state"]
    return chain(state, node=node).compile(**options)


async def told(node: Node, given: Any) -> list[Any]:
    """The events that the node tells."""
    return [event async for event in graph_of(node).astream(given, stream_mode="custom")]


class SlowLLM(LLM):
    """Notes how many calls are under way, and their sample numbers."""

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
