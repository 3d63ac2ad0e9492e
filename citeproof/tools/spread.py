"""Spreads scoring and embedding over models in Ray actors, each of which handles a part."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain_core.embeddings import Embeddings

from citeproof.actors import Actors
from citeproof.tools.entailment import Entailment, Pair
from citeproof.tools.entailment.token_labels import UnsupportedSpan
from citeproof.tools.retrieval.embeddings import embed_queries, embed_texts, embedder_name


class SpreadEmbeddings(Embeddings):
    """An embedding model in actors; its `name` is empty if they have none.

    Args:
        actors: Either all have an embedding model open, or none has. The caller closes them.

    Raises:
        CiteproofError: The model cannot be opened.
    """

    def __init__(self, actors: Actors[Any]) -> None:
        self._actors = actors
        self.name = actors.submit(embedder_name).result()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""
        parts = self._actors.map_parts(embed_texts, texts)
        return [vector for part in parts for vector in part.result()]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self._actors.submit(embed_queries, [text]).result()[0]


class SpreadEntailment:
    """An entailment model in actors.

    Args:
        actors: Each has an entailment model open. The caller closes them.

    Raises:
        CiteproofError: The model cannot be opened.
    """

    def __init__(self, actors: Actors[Entailment]) -> None:
        self._actors = actors
        self.name, self.threshold, self.reads_many, marks = actors.submit(_describe).result()
        self.spans: Callable[[Pair], Awaitable[list[UnsupportedSpan]]] | None = (
            self._spans if marks else None
        )
        """Marks the unsupported parts of a hypothesis; None if the model cannot."""

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of entailment of each pair, in order."""
        parts = self._actors.map_parts(lambda model, part: model.scores(part), pairs)
        found = await asyncio.gather(*map(asyncio.wrap_future, parts))
        return [score for part in found for score in part]

    async def _spans(self, pair: Pair) -> list[UnsupportedSpan]:
        return await asyncio.wrap_future(self._actors.submit(_mark, pair))


def _describe(model: Entailment) -> tuple[str, float, bool, bool]:
    marks = getattr(model, "spans", None) is not None
    return model.name, model.threshold, getattr(model, "reads_many", False), marks


async def _mark(model: Entailment, pair: Pair) -> list[UnsupportedSpan]:
    found: list[UnsupportedSpan] = await model.spans(pair)  # type: ignore[attr-defined]
    return found
