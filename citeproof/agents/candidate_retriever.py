"""D_c ← R(Q, N): finds the candidates of a round (LLatrieval, Algorithm 1, line 7)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import SearchNode
from citeproof.agents.retriever import Retriever
from citeproof.runtime.events import EvidenceFound, emit
from citeproof.state import SearchRound, SearchState, SourceState, Update, append_new
from citeproof.tools.questions.sources import read_documents

__all__ = ["CandidateRetriever"]


class FinderState(SearchState, SourceState):
    """The keys that the retriever reads."""


@dataclass(frozen=True)
class CandidateRetriever(SearchNode):
    """Opens a round: searches for the query, and lets the selector read what is new."""

    candidates: int = 50
    """N: most passages found for a query."""
    k: int = 5
    """Size of D."""
    reread: bool = False
    """True offers the selector again what earlier rounds have found and not kept."""

    async def __call__(self, state: FinderState) -> Update:
        """Fill the queue of candidates; it stays empty where there is nothing to choose from.

        Where D has fewer than k passages, the first candidates fill it.

        Raises:
            InputError: There is nothing to search, or a document is of no use.
            RetrievalError: The retriever failed.
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
            # The first window would be offered these first anyway, and would fall back on them;
            # a run that its budget ends before the first selection is left with the best found.
            "long_term": union[: self.k],
            "waiting": fresh if len(union) > self.k else [],
            "rounds": [*state["rounds"], opened],
        }
