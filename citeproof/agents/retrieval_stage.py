"""Fills the memory by LLatrieval, or by plain retrieval."""

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
    """Runs LLatrieval as a part of the composed flow, with parameters of the flow's."""

    graph: Any
    """The graph that `build_llatrieval` gives."""
    retriever: Any = None
    k: int = 5
    search: bool = True
    """False retrieves k passages without asking whether they suffice."""
    ranked: bool = False
    """Whether, without a search, documents that come with a question are taken in their order."""
    search_rounds: int = 2
    """T of LLatrieval."""
    candidates: int = 20
    """N of LLatrieval; they are read in one window."""
    summarize: bool = False
    """Whether LLatrieval's selector reads summaries in place of the passages."""
    prompts: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Those of the run, for the nodes of LLatrieval."""

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
        if is_synchronous():  # then the run may have a checkpointer that knows no async calls
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
