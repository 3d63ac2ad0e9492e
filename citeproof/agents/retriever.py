"""R(q, k): finds passages for the question (VTG, Algorithm 1, line 4; CaLM, steps 1 and 2).

`Retriever` fills the memory, and `RetrievalStage` does so with LLatrieval. `CandidateRetriever`
finds the candidates of a round of LLatrieval (Algorithm 1, line 7: D_c ← R(Q, N)).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from citeproof.agents.base import Node, SearchNode
from citeproof.runtime.background import is_synchronous
from citeproof.runtime.events import EvidenceFound, PassagesRetrieved, emit
from citeproof.state import Retrieval, SearchRound, SearchState, SourceState, Update, append_new
from citeproof.tools.questions.sources import read_documents
from citeproof.types import Passage

__all__ = ["CandidateRetriever", "RetrievalStage", "Retriever"]


@dataclass(frozen=True)
class Retriever(SearchNode):
    """Finds the best passages for the question."""

    k: int = 5
    """Number of passages that enter the memory."""
    pool: int = 0
    """Number of passages to find, of which the first k enter the memory; at least k."""
    ranked: bool = False
    """Whether to take documents that come with a question in their order instead of searching
    them."""
    fills: Literal["long_term", "short_term"] = "long_term"
    """The memory to fill; CaLM's passages serve for one answer only."""

    async def __call__(self, state: SourceState) -> Update:
        """Find the passages; documents that come with the question replace the retriever."""
        documents = state.get("corpus") or read_documents(state.get("documents") or ())
        passages = await self.find(state["question"], documents)
        # The answer may rest only on the documents that came with the question.
        earlier = [] if documents else state.get("earlier") or []
        shown = append_new(passages[: self.k], earlier)
        # CaLM goes on to the passages behind those shown.
        update: Update = {
            "long_term": [],
            "short_term": [],
            "passages": append_new(shown, passages),
        }
        update[self.fills] = [passage.id for passage in shown]
        if documents:  # else searches that run at once would all write to the key
            update["corpus"] = documents
        return {**update, "shown": len(shown)}

    async def find(self, query: str, documents: Sequence[Passage]) -> list[Passage]:
        """The best passages for a query, from the documents if there are any."""
        most = max(self.pool, self.k)
        found = documents
        if not (self.ranked and documents):
            [found] = await self.search(self.source({"corpus": documents}), [query], most)
        # A custom retriever may repeat a passage, which would then have two numbers.
        passages = append_new([], list(found))[:most]
        emit(PassagesRetrieved(passages=tuple(passages)))
        return passages


class FinderState(SearchState, SourceState):
    """The keys that the retriever reads."""


@dataclass(frozen=True)
class CandidateRetriever(SearchNode):
    """Opens a round: searches for the query, and queues new passages for the selector."""

    candidates: int = 50
    """N: maximum number of passages found for a query."""
    k: int = 5
    """Size of D."""
    reread: bool = False
    """True offers the selector the passages again that earlier rounds found but did not keep."""

    async def __call__(self, state: FinderState) -> Update:
        """Fill the queue of candidates; it stays empty if there is nothing to choose from.

        If D has fewer than k passages, the first candidates fill it up.
        """
        query = state["query"] or state["question"]
        search = Retriever(self.retriever, max(self.candidates, self.k))
        documents = state.get("corpus") or read_documents(state.get("documents") or ())
        found = await search.find(query, documents)
        if not state["rounds"] and not documents:
            found = append_new(found, state.get("earlier") or [])
        known = {passage.id for passage in state["passages"]}
        chosen = state.get("long_term", [])
        seen = set(chosen) if self.reread else known
        ids = dict.fromkeys(passage.id for passage in found)
        fresh = [passage_id for passage_id in ids if passage_id not in seen]
        if query != state["question"]:
            passages = {passage.id: passage for passage in found}
            emit(EvidenceFound(queries=(query,), passages=tuple(passages[i] for i in fresh)))
        opened = SearchRound(query=query, found=len(ids), new=len(ids.keys() - known))
        union = [*chosen, *fresh]
        return {
            "passages": found,
            # The first window offers these first anyway, and falls back on them. If the budget
            # ends before the first selection, the run keeps the best passages found.
            "long_term": union[: self.k],
            "waiting": fresh if len(union) > self.k else [],
            "rounds": [*state["rounds"], opened],
        }


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
