from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.embeddings import Embeddings

from citeproof.memory.index import Index
from citeproof.memory.postgres import PostgresPassages
from citeproof.settings import ChromaSettings, RetrieverSettings
from tests.memory.fakes import WordEmbeddings
from tests.postgres import Server, running_server

Opener = Callable[..., Index]


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as made:
        yield made


@pytest.fixture
def collection() -> str:
    return f"t{uuid4().hex[:12]}"


@pytest.fixture
def embeddings() -> WordEmbeddings:
    return WordEmbeddings()


@pytest.fixture
def settings(tmp_path: Path) -> ChromaSettings:
    """Where the index of the test is."""
    return ChromaSettings(path=tmp_path / "store")


@pytest.fixture
def opened(settings: ChromaSettings, embeddings: Embeddings) -> Iterator[Opener]:
    """Opens the index of the test, by default with its `embeddings`; it is closed at the end."""
    with ExitStack() as held:

        def open_(*model: Embeddings | None, kind: Any = "fused", **options: Any) -> Index:
            [given] = model or [embeddings]
            index = Index.open(settings, RetrieverSettings(kind=kind), given, **options)
            held.callback(index.close)
            return index

        yield open_


@pytest.fixture
def opened_postgres(
    server: Server, collection: str, embeddings: WordEmbeddings
) -> Iterator[Opener]:
    """Opens the index of the test in PostgreSQL, likewise."""
    with ExitStack() as held:

        def open_(*model: Embeddings, kind: Any = "fused") -> Index:
            [given] = model or [embeddings]
            place = PostgresPassages(server.url, given, collection)
            index = Index(place, RetrieverSettings(kind=kind), given)
            held.callback(index.close)
            return index

        yield open_


@pytest.fixture(params=["opened", "opened_postgres"])
def index(request: pytest.FixtureRequest) -> Index:
    """An empty index in each of the places that citeproof writes to."""
    made: Index = request.getfixturevalue(request.param)()
    return made


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Two documents, and a file that is none."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "tides.md").write_text("# Tides\n\nHigh water is at noon.\n")
    (folder / "sheep.txt").write_text("Forty sheep live on the hill.")
    (folder / "picture.png").write_bytes(b"x")
    return folder
