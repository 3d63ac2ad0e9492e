"""An index, opened with other settings of the embedding model than those that it was made with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from citeproof.errors import StoreError
from citeproof.settings import EmbeddingSettings
from citeproof.tools.retrieval.remote_embeddings import RemoteEmbeddings
from tests.memory.conftest import Opener
from tests.memory.fakes import WordEmbeddings
from tests.tools.model_stub import Reply, Stub, serve


def embed(path: str, body: Any) -> Reply:
    vectors = enumerate(WordEmbeddings().embed_documents(body["input"]))
    data = [{"index": number, "embedding": vector} for number, vector in vectors]
    return Reply({"data": data, "model": body["model"]})


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    with serve(embed) as running:
        yield running


def remote(stub: Stub, **settings: Any) -> RemoteEmbeddings:
    return RemoteEmbeddings(EmbeddingSettings(base_url=f"{stub.url}/v1", **settings))


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
    opened: Opener, stub: Stub, change: dict[str, str]
) -> None:
    settings = {"model": "dpr/passages", "query_model": "dpr/questions", "passage_prefix": "in: "}
    opened(remote(stub, **settings)).add(["Forty sheep live on the hill."])
    opened(remote(stub, **settings, batch_size=3))
    with pytest.raises(StoreError, match=r"does not fit the model.*citeproof index --rebuild"):
        opened(remote(stub, **{**settings, **change}))


def test_an_embedder_that_compares_otherwise_asks_for_a_rebuild(
    opened: Opener, embeddings: WordEmbeddings
) -> None:
    opened().add(["Forty sheep live on the hill."])
    embeddings.similarity = "inner_product"  # type: ignore[attr-defined]
    with pytest.raises(StoreError, match=r"the settings say words \(inner_product\)"):
        opened()
