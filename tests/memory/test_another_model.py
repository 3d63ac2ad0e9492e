"""An index, opened with other settings of the embedding model than those that it was made with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citeproof.errors import StoreError
from citeproof.memory.index import Index
from citeproof.settings import ChromaSettings, EmbeddingSettings, RetrieverSettings
from citeproof.tools.retrieval.remote_embeddings import RemoteEmbeddings
from citeproof.types import Passage
from tests.memory.fakes import WordEmbeddings, search
from tests.tools.model_stub import Reply, Stub, serve

DPR = {"model": "dpr/passages", "query_model": "dpr/questions"}


def embed(path: str, body: Any) -> Reply:
    """Two models with spaces of their own; neither's vectors are of length 1."""
    scale, sign = {"dpr/passages": (1.0, 1), "dpr/questions": (3.0, 1)}.get(body["model"], (1, -1))
    vectors = WordEmbeddings().embed_documents(body["input"])
    sizes = [scale * (1 + int(hashlib.md5(t.encode()).hexdigest(), 16) % 3) for t in body["input"]]
    data = [
        {"index": n, "embedding": [sign * size * number for number in vector]}
        for n, (vector, size) in enumerate(zip(vectors, sizes, strict=True))
    ]
    return Reply({"data": data, "model": body["model"]})


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    with serve(embed) as running:
        yield running


def opened(folder: Path, stub: Stub, **embedding: Any) -> Index:
    settings = EmbeddingSettings(base_url=f"{stub.url}/v1", **embedding)
    retriever = RetrieverSettings(kind="dense")
    return Index.open(ChromaSettings(path=folder), retriever, RemoteEmbeddings(settings))


@pytest.mark.parametrize(
    "change",
    [
        {"model": "org/other"},
        {"query_model": "org/other"},
        {"query_prefix": "q: "},
        {"passage_prefix": "p: "},
        {"similarity": "inner_product"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_vectors_depend_on_asks_for_a_rebuild(
    tmp_path: Path, stub: Stub, change: dict[str, str]
) -> None:
    settings = {**DPR, "passage_prefix": "passage: "}
    index = opened(tmp_path, stub, **settings)
    index.add(["Forty sheep live on the hill."])
    index.close()
    opened(tmp_path, stub, **settings, batch_size=3).close()
    with pytest.raises(StoreError, match=r"does not fit the model.*citeproof index --rebuild"):
        opened(tmp_path, stub, **{**settings, **change})


def test_an_embedder_that_compares_otherwise_asks_for_a_rebuild(tmp_path: Path) -> None:
    embeddings: Any = WordEmbeddings()
    chroma, retriever = ChromaSettings(path=tmp_path), RetrieverSettings()
    index = Index.open(chroma, retriever, embeddings)
    index.add(["Forty sheep live on the hill."])
    index.close()
    embeddings.similarity = "inner_product"
    with pytest.raises(StoreError, match=r"the settings say words \(inner_product\)"):
        Index.open(chroma, retriever, embeddings)


def test_two_models_by_address_are_compared_by_inner_product(tmp_path: Path, stub: Stub) -> None:
    texts = [f"Sheep {n} lives on hill {n}." for n in range(20)]
    index = opened(tmp_path, stub, **DPR, similarity="inner_product")
    index.add([Passage(id=f"p{n}", text=text) for n, text in enumerate(texts)], _vectors(texts))
    stub.requests.clear()
    found = search(index, "sheep on hill 7", 5)
    assert [body["model"] for body in stub.bodies("/v1/embeddings")] == ["dpr/questions"]
    query = _vectors(["sheep on hill 7"], "dpr/questions")[0]
    products = [sum(a * b for a, b in zip(query, one, strict=True)) for one in _vectors(texts)]
    best = sorted(range(20), key=lambda n: products[n], reverse=True)
    assert found[0] == texts[best[0]]
    assert [products[texts.index(text)] for text in found] == pytest.approx(
        [products[n] for n in best[:5]]
    )
    index.close()


def _vectors(texts: list[str], model: str = "dpr/passages") -> Any:
    import numpy as np

    data = embed("", {"model": model, "input": texts}).body["data"]
    return np.array([one["embedding"] for one in data])
