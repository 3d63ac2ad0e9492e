"""Embedding at an address."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof.errors import ModelError, ModelOutageError
from citeproof.models.manifest import MINILM
from citeproof.runtime.meter import Meter, use_meter
from citeproof.settings import EmbeddingSettings, RetrieverSettings, Settings
from citeproof.testing import passage
from citeproof.tools.retrieval.hybrid import HybridRetriever
from citeproof.tools.retrieval.remote_embeddings import RemoteEmbeddings, open_embedder
from citeproof.tools.retrieval.search_pool import ListPool
from tests.tools.model_stub import Reply, serve


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citeproof.tools.model_server._BACKOFF", 0.01)


def vectors(path: str, body: Any) -> Reply:
    if path != "/v1/embeddings":
        return Reply({"error": "no such route"}, 404)
    made = enumerate([3.0, 4.0 * len(text)] for text in body["input"])
    data = [{"index": number, "embedding": vector} for number, vector in made]
    return Reply({"data": data[::-1], "model": body["model"]})


def at(url: str, **more: Any) -> RemoteEmbeddings:
    return RemoteEmbeddings(EmbeddingSettings(base_url=f"{url}/v1", **{"retries": 1, **more}))


def test_texts_go_in_batches_and_come_back_in_order() -> None:
    with serve(vectors) as stub:
        model = at(stub.url, model="org/m", batch_size=2, passage_prefix="p: ", query_prefix="q: ")
        found = model.embed_documents(["", "a", "ab"])
        assert model.embed_query("a") == found[1]
        assert model.embed_documents([]) == []
    assert found == [
        pytest.approx([3 / s, 4 * n / s]) for n, s in ((3, 153**0.5), (4, 265**0.5), (5, 409**0.5))
    ]
    bodies = stub.bodies("/v1/embeddings")
    *parts, query = [body["input"] for body in bodies]
    assert sorted(parts) == [["p: ", "p: a"], ["p: ab"]], "they are sent at the same time"
    assert query == ["q: a"]
    assert {body["model"] for body in bodies} == {"org/m"}


def test_passages_and_questions_may_have_a_model_each_and_be_compared_by_length_too() -> None:
    with serve(vectors) as stub:
        model = at(stub.url, model="org/p", query_model="org/q", similarity="inner_product")
        assert model.embed_documents(["a"]) == [[3, 4]]
        assert model.embed_query("ab") == [3, 8]
    assert [body["model"] for body in stub.bodies("/v1/embeddings")] == ["org/p", "org/q"]


def test_a_model_is_the_same_there_as_here() -> None:
    with serve(vectors) as stub:
        settings = Settings(embedding=EmbeddingSettings(base_url=f"{stub.url}/v1"))
        model = open_embedder(settings)
    assert isinstance(model, RemoteEmbeddings)
    assert model.name == MINILM.name, "an index knows it by that name"
    assert stub.bodies("/v1/embeddings") == [{"model": MINILM.name, "input": ["length"]}]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply({"error": {"message": "no model"}}, 404), "no model"),
        (Reply({"error": "full"}, 429, {"Retry-After": "0"}), "after 2 attempts"),
        (Reply("<html>", 200, {"content-type": "text/html"}), "HTML page"),
        (Reply({"data": [{"index": n, "embedding": [1]} for n in "12"]}), "2 vectors for 1 texts"),
        (Reply({"data": []}), "no vectors"),
        (Reply({"data": [{"index": 0, "embedding": "AAAA"}]}), "no vectors"),
        (Reply({"data": [{"index": 0, "embedding": [0.0]}]}), "no vectors"),
        (Reply({"data": [{"index": 0, "embedding": [[1.0]]}]}), "no vectors"),
        (Reply({"vectors": [[1.0]]}), "no vectors"),
    ],
)
def test_a_server_that_gives_none_is_told(reply: Reply, told: str) -> None:
    with serve(lambda path, body: reply) as stub:
        with pytest.raises(ModelError, match=told) as caught:
            at(stub.url).embed_query("a")
        assert f"The embedding server at {stub.url}/v1" in str(caught.value)


def test_a_server_that_is_gone_is_told_when_the_models_are_opened() -> None:
    with serve(vectors) as stub:
        pass
    gone = Settings(embedding=EmbeddingSettings(base_url=f"{stub.url}/v1"))
    with pytest.raises(ModelOutageError, match=f"The embedding server at {stub.url}/v1 does not"):
        open_embedder(gone)
    by_words = gone.model_copy(update={"retriever": RetrieverSettings(kind="bm25")})
    assert open_embedder(by_words) is not None, "who goes by words does not need it"


async def test_a_fused_search_goes_on_by_words_where_the_server_is_gone() -> None:
    passages = [passage("Ann Lee built the tower."), passage("A storm broke the lamp.")]
    works = [True]

    def answer(path: str, body: Any) -> Reply:
        return vectors(path, body) if works else Reply({"error": "unhealthy"}, 503)

    with serve(answer) as stub:
        pool = ListPool(passages, at(stub.url, retries=0))
        search, dense = HybridRetriever(pool), HybridRetriever(pool, "dense")
        assert len(await search.retrieve("Who built the tower?", 2)) == 2
        works.clear()
        with use_meter(Meter()) as meter:
            assert await search.retrieve("Who built a tower?", 1) == passages[:1]
        with pytest.raises(ModelOutageError):
            await dense.retrieve("Who built one?", 1)
    [note] = meter.notes
    assert note.startswith(f"searched by words alone: The embedding server at {stub.url}/v1")
