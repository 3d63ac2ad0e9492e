"""Deterministic embedding models, and cases and searches in short."""

from __future__ import annotations

import hashlib
import zlib
from functools import cache
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from citeproof.memory.bank import Bank, Case, Kind, Snippet
from citeproof.memory.index import Index
from citeproof.tools.retrieval import Kind as SearchKind
from citeproof.tools.sentences import words
from citeproof.types import Passage


def search(index: Index, query: str, k: int, kind: SearchKind = "dense") -> list[str]:
    """The texts of the best `k` passages, the best first."""
    [found] = index.candidates([query], k, kind)
    return [passage.text for passage in index.get([one.id for one in found])]


def case(about: str, **changes: Any) -> Case:
    """A case with its topic in each part."""
    fields: dict[str, Any] = {
        "question": f"what is {about}",
        "passages": (Passage(id=about, text=f"{about} is here"),),
        "answer": f"{about} it is [1].",
        "feedback": f"{about} is cited.",
        "actions": (f"Say more of {about}.",),
        "final": f"{about} it surely is [1].",
        "score": 1.0,
    }
    return Case(**fields | changes)


async def best(bank: Bank, asked: Case, kind: Kind = "generation", rank: int = 1) -> Snippet:
    """The snippet that a question with the parts of this case finds."""
    found = await bank.best(
        kind,
        question=asked.question,
        passages=asked.passages,
        answer=asked.answer,
        feedback=asked.feedback,
        rank=rank,
    )
    assert found is not None
    return found


class WordEmbeddings(Embeddings):
    """Counts words, records what it embeds, and can fail at a given document."""

    def __init__(self, name: str = "words", dimension: int = 64) -> None:
        self.name = name
        self.dimension = dimension
        self.embedded: list[str] = []
        self.fail_at: int | None = None
        self.error: BaseException = RuntimeError("out of memory")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        for text in texts:
            if self.fail_at is not None and len(self.embedded) >= self.fail_at:
                raise self.error
            self.embedded.append(text)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        vector = [0.01] * self.dimension
        for word in words(text.lower()):
            place = int(hashlib.sha256(word.encode()).hexdigest(), 16) % self.dimension
            vector[place] += 1.0
        return vector


class GaussianEmbeddings(Embeddings):
    """Each word has its own direction, so that distances hardly ever tie, as with real models.

    Of many vectors at the same distance, Chroma's index does not reach all.
    """

    name = "gaussian"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        total = np.sum([_direction(word) for word in [*words(text.lower()), ""]], axis=0)
        return [float(number) for number in total]


@cache
def _direction(word: str) -> NDArray[np.float64]:
    return np.random.default_rng(zlib.crc32(word.encode())).standard_normal(96)
