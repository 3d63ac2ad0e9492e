"""R(q, k): fills the memory for the question (VTG, Algorithm 1, line 4; CaLM, steps 1 and 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from citeproof.agents.base import SearchNode
from citeproof.errors import InputError
from citeproof.runtime.events import PassagesRetrieved, emit
from citeproof.state import SourceState, Update, append_new
from citeproof.tools.questions.sources import read_documents, select_source, validate_question
from citeproof.types import Passage

__all__ = ["Retriever"]


@dataclass(frozen=True)
class Retriever(SearchNode):
    """Finds the best passages for the question."""

    k: int = 5
    """Passages that enter the memory."""
    pool: int = 0
    """Passages that are found, of which the first k enter the memory; at least k."""
    ranked: bool = False
    """Whether documents that come with a question are taken in their order, and not searched."""
    fills: Literal["long_term", "short_term"] = "long_term"
    """The memory that they enter; CaLM's passages are there for one answer only."""

    async def __call__(self, state: SourceState) -> Update:
        """Find the passages; those that come with the question go before the retriever's.

        Raises:
            InputError: The question is empty, a document is of no use, or there is nothing to
                search.
            RetrievalError: The retriever failed.
        """
        question = validate_question(state["question"])
        documents = state.get("corpus") or read_documents(state.get("documents") or ())
        passages = await self.find(question, documents)
        shown = passages[: self.k]
        # Those that came with the question are all that there is to answer from.
        earlier = [] if documents else state.get("earlier") or []
        update: Update = {"long_term": [], "short_term": [], "passages": [*passages, *earlier]}
        update[self.fills] = [passage.id for passage in append_new(shown, earlier)]
        return {**update, "shown": len(shown), "corpus": documents}

    async def find(self, query: str, documents: Sequence[Passage]) -> list[Passage]:
        """The best passages for a query, of the documents where there are any."""
        most = max(self.pool, self.k)
        found = documents
        if not (self.ranked and documents):
            source = select_source({"corpus": documents}, self.retriever)
            if source is None:
                raise nothing_to_search()
            [found] = await self.search(source, [query], most)
        # Anyone's retriever may repeat a passage, which then would bear two numbers.
        passages = append_new([], list(found))[:most]
        emit(PassagesRetrieved(passages=tuple(passages)))
        return passages


def nothing_to_search() -> InputError:
    """The error of a run that has neither documents nor a retriever."""
    return InputError(
        "There is nothing to answer from",
        why="the graph has no retriever and the input no documents",
        fix="Give Toolbox a retriever, or pass documents with the question.",
    )
