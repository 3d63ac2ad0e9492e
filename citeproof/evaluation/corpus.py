"""The passages that a run searches: a question's documents, its gold documents, or the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from langchain_core.embeddings import Embeddings

from citeproof.evaluation.examples import Example
from citeproof.tools.retrieval import HybridRetriever, Kind, Retriever
from citeproof.tools.retrieval.oracle import oracle_passages, oracle_passages_for_claims
from citeproof.tools.retrieval.search_pool import ListPool
from citeproof.tools.toolbox import Toolbox
from citeproof.types import Passage

Corpus = Literal["documents", "index"]
"""documents: a question's own documents, or the index if it has none; index: always the index."""

_KEPT = 32
"""Number of questions whose vectors are cached: more than are answered concurrently."""
_CANDIDATES = 100
"""Passages from which gold documents are chosen, as many as come with ALCE's questions."""


class DocumentSearch:
    """Searches with a retriever, and in a question's documents in the same way.

    Without an embedding model, documents are searched by their words only.
    """

    def __init__(self, retriever: Retriever, embeddings: Embeddings | None, kind: Kind) -> None:
        self._retriever = retriever

        @lru_cache(_KEPT)
        def within(passages: tuple[Passage, ...]) -> HybridRetriever:
            return HybridRetriever(ListPool(passages, embeddings), kind if embeddings else "bm25")

        self._within = within

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Search with the retriever."""
        return await self._retriever.retrieve(query, k)

    def within(self, passages: Sequence[Passage]) -> Retriever:
        """Return a retriever over these passages; its first query computes their vectors."""
        return self._within(tuple(passages))


def search_documents(tools: Toolbox) -> Toolbox:
    """Return tools whose graphs search a question's documents in the same way as the index.

    Elsewhere a question's documents are searched by their words. In evaluations, methods should
    get the same kind of search whether passages come from an index or with the questions.
    """
    found, index = tools.retriever, tools.index
    if index is None or not isinstance(found, HybridRetriever):
        return tools
    return tools.over(DocumentSearch(found, index.embeddings, found.kind))


def nothing_new(parameters: Mapping[str, Any], examples: Sequence[Example]) -> int:
    """Count questions of which a method has seen all documents before its own further searches.

    For VTG, the composed flow and CaLM these are questions with at most k documents. For
    LLatrieval they have at most as many documents as its first round has candidates. For methods
    without further searches the count is 0.
    """
    known, met = parameters.get, 0
    if known("window"):  # LLatrieval
        met = max(known("candidates", 0), known("k", 0)) if known("max_rounds", 1) > 1 else 0
    elif known("pool") or (known("passages_per_query") and known("verify") and known("memory")):
        met = known("k", 0)
    return sum(0 < len(example.documents) <= met for example in examples)


async def choose_gold(tools: Toolbox, examples: Sequence[Example], k: int) -> list[Example]:
    """Return the examples, each with the k documents that cover most of its answers or claims.

    For an example without documents, they are chosen from what the retriever finds.
    """
    found = []
    for example in examples:
        candidates: Sequence[Passage] = example.documents
        if not candidates and tools.retriever is not None:
            candidates = await tools.retriever.retrieve(example.question, _CANDIDATES)
        if example.claims and not example.answers:
            chosen = await oracle_passages_for_claims(
                candidates, example.claims, tools.entailment, k
            )
        else:
            chosen = oracle_passages(candidates, example.answers, k)
        found.append(example.model_copy(update={"documents": tuple(chosen)}))
    return found
