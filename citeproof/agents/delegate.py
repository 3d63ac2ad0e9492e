"""Lets another graph answer the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from citeproof.agents.retriever import RetrieverState, asked
from citeproof.state import KeptUpdate
from citeproof.tools.nested import nested

__all__ = ["Delegate"]


@dataclass(frozen=True)
class Delegate:
    """Starts a run with the answer of a graph, as it is."""

    graph: Any
    """A graph from a `Question` to a `Result`."""

    async def __call__(self, state: RetrieverState) -> KeptUpdate:
        """Ask the graph, and clear what an earlier run on the thread left.

        Raises:
            InputError: The question is empty, or the graph gives no answer.
        """
        asked(state.get("question"))
        result = await nested(self.graph, state, final=True)
        return {"answer": result["answer"], "case_id": "", "stop": ""}
