"""Fills the memory with LLatrieval."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from citeproof.agents.base import Node
from citeproof.runtime.background import is_synchronous
from citeproof.runtime.events import PassagesRetrieved, emit
from citeproof.state import Retrieval, SourceState, Update, append_new

__all__ = ["RetrievalStage"]


class StageState(SourceState):
    """The keys that the stage reads."""

    answerable: bool | None


@dataclass(frozen=True)
class RetrievalStage(Node):
    """Runs LLatrieval inside the composed flow, with the flow's parameters."""

    graph: Any
    """The graph that `build_llatrieval` returns."""
    k: int = 5
    search_rounds: int = 2
    """T of LLatrieval: maximum number of queries."""
    candidates: int = 20
    """N of LLatrieval: number of passages found for a query, all read in one window."""
    summarize: bool = False
    """Whether LLatrieval's selector reads summaries instead of the passages."""
    prompts: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The run's prompts, for the nodes of LLatrieval."""

    async def __call__(self, state: StageState) -> Update:
        """Choose the passages; for errors, see `SearchNode`."""
        context: dict[str, Any] = {
            "answer": False,
            # Another model may have found already that the first k do not suffice.
            "verify_first": state.get("answerable") is not False,
            "k": self.k,
            "max_rounds": self.search_rounds,
            "candidates": self.candidates,
            "window": self.candidates,
            "summarize": self.summarize,
            "prompts": dict(self.prompts),
            # The limits of the flow, in the state, apply instead of those in the tools.
            **dict.fromkeys(("max_calls", "max_tokens", "max_seconds")),
        }
        asked = {
            "question": state["question"],
            "asked": state["question"],
            "documents": state.get("corpus") or state.get("documents") or [],
            "ledger": state.get("ledger", {}),
            "budget": state.get("budget"),
        }
        if is_synchronous():  # the run's checkpointer may not support async calls
            result = await asyncio.to_thread(self.graph.invoke, asked, context=context)
        else:
            result = await self.graph.ainvoke(asked, context=context)
        retrieval: Retrieval = result["retrieval"]
        emit(PassagesRetrieved(passages=retrieval.passages))
        earlier = [] if asked["documents"] else state.get("earlier") or []
        passages = append_new(list(retrieval.passages), earlier)
        return {
            "passages": passages,
            "long_term": [passage.id for passage in passages],
            "retrieval": retrieval,
            "ledger": result["ledger"],
        }
