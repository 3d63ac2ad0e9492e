"""Opens what the settings search: an index, or a user's own retriever."""

from __future__ import annotations

from typing import Any

from langchain_core.embeddings import Embeddings

from citeproof.actors import Actors
from citeproof.errors import SettingsError
from citeproof.memory.index import Index
from citeproof.memory.postgres import PostgresPassages
from citeproof.named import PREFIX
from citeproof.settings import Settings
from citeproof.tools.retrieval import Retriever
from citeproof.tools.retrieval.sources import make_retriever


class MadeRetriever:
    """A retriever that a function of the user creates."""

    def __init__(self, source: str, settings: Settings) -> None:
        self._retriever = make_retriever(source, settings)

    def retriever(self) -> Retriever:
        """Return the retriever."""
        return self._retriever

    def close(self) -> None:
        """Close the retriever if it has a `close` method."""
        getattr(self._retriever, "close", lambda: None)()


def open_searched(settings: Settings, embeddings: Embeddings | None) -> Index | MadeRetriever:
    """Open the index or retriever that `retriever.source` names.

    Raises:
        SettingsError: The source cannot be opened, or needs embeddings.
        StoreError: The vectors of the index are from another model.
    """
    if settings.retriever.source.startswith(PREFIX):
        return MadeRetriever(settings.retriever.source, settings)
    return open_index(settings, embeddings)


def open_index(
    settings: Settings,
    embeddings: Embeddings | None,
    *,
    rebuild: bool = False,
    actors: Actors[Any] | None = None,
) -> Index:
    """Open the index that documents are written to.

    Raises:
        SettingsError: citeproof cannot write to the source, or embeddings are needed.
        StoreError: The vectors of the index are from another model.
    """
    source, chosen = settings.retriever.source, settings.retriever
    more: dict[str, Any] = {"actors": actors, "documents": settings.documents}
    if source == "index":
        return Index.open(settings.chroma, chosen, embeddings, rebuild=rebuild, **more)
    if source.startswith(PREFIX):
        raise SettingsError(
            "There is no index that citeproof can write to",
            why=f"`retriever.source` is {source}",
            fix="Set it to index or postgresql://…, or write with the retriever's own tools.",
        )
    if rebuild:
        raise SettingsError(
            "An index in PostgreSQL cannot be rebuilt",
            fix="Set `chroma.collection` to another table name, and index into that table.",
        )
    if embeddings is None:
        raise SettingsError("An index in PostgreSQL needs an embedding model")
    place = PostgresPassages(source, embeddings, settings.chroma.collection)
    return Index(place, chosen, embeddings, **more)
