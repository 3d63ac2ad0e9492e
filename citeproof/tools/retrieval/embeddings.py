"""Vectors from any LangChain embedding model, with its errors raised as citeproof's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.embeddings import Embeddings

from citeproof.errors import CiteproofError, ModelError


def embed_texts(embeddings: Embeddings, texts: list[str], fix: str = "") -> list[list[float]]:
    """Return a vector for each text.

    Raises:
        ModelError: The embedding model failed.
    """
    if not texts:
        return []
    try:
        vectors = embeddings.embed_documents(texts)
    except CiteproofError:
        raise
    except Exception as error:  # a foreign model or service may raise anything
        raise ModelError(
            "The embedding model failed", why=f"{type(error).__name__}: {error}", fix=fix
        ) from error
    if len(vectors) != len(texts):
        raise ModelError(
            "The embedding model failed", why=f"it gave {len(vectors)} vectors for {len(texts)}"
        )
    return vectors


def embed_queries(embeddings: Embeddings, queries: Sequence[str]) -> list[list[float]]:
    """Return vectors of queries, in one batch if the embedder has `embed_queries`."""
    batch: Any = getattr(embeddings, "embed_queries", None)
    if callable(batch):
        vectors: list[list[float]] = batch(list(queries))
        return vectors
    return [embeddings.embed_query(query) for query in queries]


def embed_raw(embeddings: Embeddings, texts: list[str]) -> list[list[float]]:
    """Return vectors of unchanged texts, without the model's prompt for questions or passages."""
    raw: Any = getattr(embeddings, "embed_raw", embeddings.embed_documents)
    vectors: list[list[float]] = raw(texts)
    return vectors


def embedder_name(embeddings: Embeddings | None) -> str:
    """Return the name of an embedding model in a store; "" for none.

    It is the model's own or its class's name, and says if vectors are compared by inner product.
    """
    if embeddings is None:
        return ""
    attributes = ("name", "model_name", "model", "model_id")
    given = [getattr(embeddings, attribute, None) for attribute in attributes]
    name = next((own for own in given if isinstance(own, str) and own), type(embeddings).__name__)
    if similarity_of(embeddings) == "cosine" or "inner_product" in name:
        return name
    return f"{name} (inner_product)"


def similarity_of(embeddings: Embeddings | None) -> str:
    """Return how vectors are compared: `cosine`, unless the embedder says `inner_product`."""
    return str(getattr(embeddings, "similarity", "cosine"))
