"""The passages that a run searches: those of a question, those with its answer, or the index."""

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
"""documents: those that a question brings, the index for questions without any; index: for all."""

_KEPT = 32
"""Questions whose vectors are kept: more than are in work at a time."""
_CANDIDATES = 100
"""Passages that are searched through, as many as come with ALCE's questions."""


class DocumentSearch:
    """A retriever that also searches documents of a question, the way that an index is searched.

    Args:
        retriever: For questions without documents.
        embeddings: For vectors; without them documents are searched by their words.
        kind: How documents are searched.
    """

    def __init__(self, retriever: Retriever, embeddings: Embeddings | None, kind: Kind) -> None:
        self._retriever = retriever

        @lru_cache(_KEPT)
        def within(passages: tuple[Passage, ...]) -> HybridRetriever:
            return HybridRetriever(ListPool(passages, embeddings), kind if embeddings else "bm25")

        self._within = within

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Find what the retriever finds."""
        return await self._retriever.retrieve(query, k)

    def within(self, passages: Sequence[Passage]) -> Retriever:
        """A retriever over these passages; their vectors are computed at its first query."""
        return self._within(tuple(passages))


def search_documents(tools: Toolbox) -> Toolbox:
    """The same tools; graphs built from them search a question's documents as these the index.

    Elsewhere documents of a question are searched by their words. Here the methods are to meet
    the same kind of search, whether the passages come from an index or with the questions.
    """
    found = tools.retriever
    if found is None or tools.index is None or not isinstance(found, HybridRetriever):
        return tools
    return tools.over(DocumentSearch(found, tools.index.embeddings, found.kind))


def nothing_new(parameters: Mapping[str, Any], examples: Sequence[Example]) -> int:
    """Questions whose documents a method has all met before it searches on by itself.

    For VTG, the composed flow and CaLM these are questions with at most k documents; for
    LLatrieval with at most as many as the candidates of its first round.

    A method that never searches on has none such question.
    """
    known = parameters.get
    if known("window"):  # LLatrieval
        met = max(known("candidates", 0), known("k", 0)) if known("max_rounds", 1) > 1 else 0
    elif known("pool") or (known("passages_per_query") and known("verify") and known("memory")):
        met = known("k", 0)
    else:
        met = 0
    return sum(0 < len(example.documents) <= met for example in examples)


async def choose_gold(tools: Toolbox, examples: Sequence[Example], k: int) -> list[Example]:
    """The examples, each with the k documents that cover most of its answers, or of its claims.

    Where they bring none, the retriever's are chosen from.

    Raises:
        RetrievalError: The retriever failed.
        ModelError: The entailment model cannot be had.
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
