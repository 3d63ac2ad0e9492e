"""Vectors from an OpenAI-compatible server: citeproof serve, vLLM, text-embeddings-inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from citeproof.errors import MissingExtraError
from citeproof.models.manifest import MINILM
from citeproof.models.progress import Progress
from citeproof.settings import EmbeddingSettings, Settings
from citeproof.tools.model_server import ModelServer, in_requests


class RemoteEmbeddings(Embeddings):
    """Vectors from the server that the settings name.

    They are scaled to length 1, unless the similarity is `inner_product`.
    """

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._model = MINILM.name if settings.model == "local" else settings.model
        self.name = settings.full_name(self._model)
        """The model's name in the store, which is the same for a local and a remote model."""
        self.similarity = settings.similarity
        self.server = ModelServer("embedding", settings)
        self._settings = settings

    def check(self) -> int:
        """Ask the server for a vector, without retries, and return its length.

        Raises:
            ModelError: The server is not reached, or returns no vector.
        """
        return len(self._embed(["length"], retries=0)[0])

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""
        prefix = self._settings.passage_prefix or ""
        return self.embed_raw([f"{prefix}{text}" for text in texts])

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self.embed_queries([text])[0]

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each question."""
        prefix = self._settings.query_prefix or ""
        model = self._settings.query_model
        return self._embed([f"{prefix}{text}" for text in texts], model)

    def embed_raw(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, without a prefix; raises what `ModelServer.ask` does."""
        return self._embed(texts)

    def _embed(
        self, texts: Sequence[str], model: str | None = None, *, retries: int | None = None
    ) -> list[list[float]]:
        parts = list(in_requests(texts, self._settings.batch_size or 64, len))
        named = model or self._model
        found = self.server.ask(
            f"{self.server.url}/embeddings",
            parts,
            lambda part: {"model": named, "input": part},
            self._read,
            "vectors",
            retries,
        )
        if len(set(map(len, found))) > 1:
            raise self.server.refuse("its vectors differ in length")
        return found

    def _read(self, reply: Any) -> list[list[float]]:
        ordered = sorted(reply["data"], key=lambda one: int(one["index"]))
        rows = np.array([one["embedding"] for one in ordered], float)
        if self.similarity == "cosine":
            with np.errstate(invalid="ignore"):
                rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise ValueError("they are not rows of finite numbers")
        vectors: list[list[float]] = rows.tolist()
        return vectors


def open_embedder(settings: Settings, progress: Progress | None = None) -> Embeddings | None:
    """Open the embedder that the settings name; downloads or loads nothing before its first use.

    An embedder at an address is asked for a vector, so that errors show immediately, unless the
    retriever searches by words only. In that case an embedder that is not installed gives None.

    Raises:
        MissingExtraError: The embedder is not installed, and the retriever searches by vectors.
        ModelError: The settings name a folder that does not exist, or a server that is not reached.
    """
    if settings.embedding.base_url is None:
        from citeproof.models.embedder import load_embedder

        try:
            return load_embedder(settings.embedding, settings.models, progress=progress)
        except MissingExtraError:
            if settings.retriever.kind == "bm25":
                return None
            raise
    embeddings = RemoteEmbeddings(settings.embedding)
    if settings.retriever.kind != "bm25":
        embeddings.check()
    return embeddings
