from __future__ import annotations

import math
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any

import huggingface_hub.constants
import pytest

from citeproof.errors import MissingExtraError, ModelError
from citeproof.models import embedder as module
from citeproof.models.embedder import LocalEmbeddings, load_embedder
from citeproof.settings import EmbeddingSettings, ModelSettings

torch = pytest.importorskip("torch")


class FakeModel:
    """Says how long a text is and how often it has an `e`."""

    def __init__(self) -> None:
        self.device = SimpleNamespace(type="cpu")
        self.asked: list[tuple[str, list[str], int]] = []
        self.encode_document = partial(self._encode, "document")
        self.encode_query = partial(self._encode, "query")

    def _encode(
        self, kind: str, texts: list[str], *, batch_size: int, prompt: str | None, **_: object
    ) -> Any:
        self.asked.append((kind, texts, batch_size))
        texts = [(prompt or "") + text for text in texts]
        return torch.tensor([[float(len(t)), float(t.count("e"))] for t in texts])


@pytest.fixture
def models() -> list[FakeModel]:
    return []


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch, models: list[FakeModel]) -> list[tuple[str, bool]]:
    made: list[tuple[str, bool]] = []

    def load(source: str, offline: bool) -> FakeModel:
        made.append((source, offline))
        models.append(FakeModel())
        return models[-1]

    monkeypatch.setattr(module, "_load", load)
    return made


def test_vectors_have_length_one(loads: list[tuple[str, bool]], models: list[FakeModel]) -> None:
    embedder = LocalEmbeddings("x", lambda: "folder", EmbeddingSettings(batch_size=7))
    assert (embedder.embed_documents([]), loads) == ([], [])
    vectors = embedder.embed_documents(["eeee", "abc"])
    assert vectors[0] == pytest.approx([math.sqrt(0.5)] * 2)
    assert vectors[1] == pytest.approx([1.0, 0.0])
    assert embedder.embed_query("abc") == pytest.approx([1.0, 0.0])
    assert loads == [("folder", False)]
    assert [(kind, size) for kind, _, size in models[0].asked] == [("document", 7), ("query", 7)]


def test_vectors_come_back_in_the_order_of_the_texts(loads: list[tuple[str, bool]]) -> None:
    texts = ["abc", "e", "abcdef", "ab"]  # to sort them is no permutation that undoes itself
    settings = EmbeddingSettings(batch_size=2, similarity="inner_product")
    got = LocalEmbeddings("x", lambda: "folder", settings).embed_documents(texts)
    assert got == [[float(len(text)), float(text.count("e"))] for text in texts]


def test_each_core_has_a_part_of_a_batch(
    loads: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def in_lanes(run: Any, parts: Any, device: str) -> list[Any]:
        sizes.extend(map(len, parts))
        return [run(part) for part in parts]

    monkeypatch.setattr(module, "lanes_of", lambda device: 4)
    monkeypatch.setattr(module, "in_lanes", in_lanes)
    LocalEmbeddings("x", lambda: "folder", EmbeddingSettings(batch_size=64)).embed_documents(
        ["text"] * 320
    )
    assert sizes == [40] * 8


def test_threads_load_it_once(loads: list[tuple[str, bool]]) -> None:
    embedder = LocalEmbeddings("x", lambda: "folder")
    barrier = threading.Barrier(4)

    def embed(n: int) -> list[float]:
        barrier.wait()
        return embedder.embed_query("e" * (n + 1))

    with ThreadPoolExecutor(4) as pool:
        assert len(list(pool.map(embed, range(4)))) == 4
    assert len(loads) == 1


def test_a_model_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(source: str, offline: bool) -> object:
        raise OSError("no file named model.safetensors")

    monkeypatch.setattr(module, "_load", load)
    embedder = load_embedder(EmbeddingSettings(model="some/model"), ModelSettings())
    with pytest.raises(ModelError, match=r"some/model cannot be loaded: no file named model\."):
        embedder.embed_query("x")


def test_a_hub_that_does_not_answer_is_told_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    nowhere = "http://127.0.0.1:9"
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", nowhere)
    template = f"{nowhere}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(ModelError, match="org/none cannot be loaded"):
        load_embedder(EmbeddingSettings(model="org/none"), ModelSettings()).embed_query("x")
    assert capfd.readouterr() == ("", "")


def test_settings_choose_the_model(
    loads: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "fetch", lambda model, *_, **__: f"cache/{model.name}")
    local = load_embedder(EmbeddingSettings(), ModelSettings())
    other = load_embedder(EmbeddingSettings(model="org/other"), ModelSettings(offline=True))
    assert (local.name, other.name) == ("all-minilm-l6-v2", "org/other")
    local.embed_query("x")
    other.embed_query("x")
    assert loads == [("cache/all-minilm-l6-v2", True), ("org/other", True)]


def test_two_encoders_prefixes_and_inner_product(
    loads: list[tuple[str, bool]], models: list[FakeModel]
) -> None:
    settings = EmbeddingSettings(
        model="org/passages",
        query_model="org/queries",
        query_prefix="ee",
        passage_prefix="e: ",
        similarity="inner_product",
    )
    embedder = load_embedder(settings, ModelSettings())
    assert embedder.embed_documents(["abc"]) == [[6.0, 1.0]]
    assert embedder.embed_query("abc") == [5.0, 2.0]
    assert [source for source, _ in loads] == ["org/passages", "org/queries"]
    assert [[kind for kind, *_ in model.asked] for model in models] == [["document"], ["query"]]


def test_the_name_tells_what_vectors_depend_on() -> None:
    names = {
        load_embedder(EmbeddingSettings(model="org/a", **more), ModelSettings()).name
        for more in (
            {},
            {"batch_size": 3},
            {"query_model": "org/b"},
            {"query_prefix": ""},
            {"passage_prefix": "passage: "},
            {"similarity": "inner_product"},
        )
    }
    assert len(names) == 5
    assert {"org/a", "org/a (passage_prefix 'passage: ')"} <= names


def test_a_folder_that_does_not_exist() -> None:
    with pytest.raises(ModelError, match="/no/such/model does not exist"):
        load_embedder(EmbeddingSettings(model="/no/such/model"), ModelSettings())


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r'pip install "citeproof\[local\]"'):
        load_embedder(EmbeddingSettings(), ModelSettings())
