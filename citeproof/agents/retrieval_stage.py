"""Fills the memory with LLatrieval or plain retrieval."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from citeproof.agents.base import Node
from citeproof.agents.retriever import Retriever
from citeproof.runtime.background import is_synchronous
from citeproof.runtime.events import PassagesRetrieved, emit
from citeproof.state import Retrieval, SourceState, Update, append_new

__all__ = ["RetrievalStage"]


@dataclass(frozen=True)
class RetrievalStage(Node):
    """Runs LLatrieval inside the composed flow, with the flow's parameters."""

    graph: Any
    """The graph that `build_llatrieval` returns."""
    retriever: Any = None
    k: int = 5
    search: bool = True
    """False retrieves k passages without checking whether they suffice."""
    ranked: bool = False
    """Without `search`: True takes the first k of the documents that come with a question."""
    search_rounds: int = 2
    """T of LLatrieval: maximum number of queries."""
    candidates: int = 20
    """N of LLatrieval: number of passages found for a query, all read in one window."""
    summarize: bool = False
    """Whether LLatrieval's selector reads summaries instead of the passages."""
    prompts: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The run's prompts, for the nodes of LLatrieval."""

    async def __call__(self, state: SourceState) -> Update:
        """Choose the passages.

        Raises:
            InputError: There is nothing to search.
            RetrievalError: The retriever failed.
        """
        if not self.search:
            return await Retriever(self.retriever, self.k, ranked=self.ranked)(state)
        context: dict[str, Any] = {
            "answer": False,
            "verify_first": True,
            "k": self.k,
            "max_rounds": self.search_rounds,
            "candidates": self.candidates,
            "window": self.candidates,
            "summarize": self.summarize,
            "prompts": dict(self.prompts),
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
