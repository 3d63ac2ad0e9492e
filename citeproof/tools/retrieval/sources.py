"""Makes retrievers from searchable objects, and runs several searches at once."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial

from langchain_core.documents import Document as LangChainDocument
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore
from langgraph.pregel.protocol import PregelProtocol

from citeproof.errors import InputError, SettingsError
from citeproof.named import call_named
from citeproof.runtime.gather import together
from citeproof.settings import Settings
from citeproof.state.documents import as_passage
from citeproof.tools.documents.base import Document, Part
from citeproof.tools.documents.passages import cut
from citeproof.tools.retrieval.base import Retriever
from citeproof.tools.retrieval.hybrid import HybridRetriever
from citeproof.tools.retrieval.own import OwnRetriever
from citeproof.tools.retrieval.search_pool import ListPool
from citeproof.types import Passage

_AT_ONCE = 8


def from_passages(
    passages: Sequence[Passage], embeddings: Embeddings | None = None
) -> HybridRetriever:
    """Make a retriever over passages in memory; without embeddings it searches by words.

    Of passages with the same id, the first counts. Nothing is indexed before the first query.
    """
    pool = ListPool(passages, embeddings)
    return HybridRetriever(pool, "bm25" if embeddings is None else "fused")


def from_texts(
    texts: Sequence[str], embeddings: Embeddings | None = None, *, passage_words: int = 100
) -> HybridRetriever:
    """Make a retriever over texts of any length, which are first cut into passages."""
    passages: list[Passage] = []
    for number, text in enumerate(texts, start=1):
        part = Part(text, 0, 0, len(text))
        passages += cut(Document(f"document {number}", "", (part,)), passage_words)
    return from_passages(passages, embeddings)


def coerce_retriever(source: object) -> Retriever:
    """Make a retriever from anything that can serve as one.

    That is a `Retriever`, whose method may be plain, a LangChain retriever, chain or vector store,
    a function of the query, an `Index`, or a sequence of texts, or of passages and LangChain
    documents, which stay whole.

    Raises:
        InputError: The source is none of these.
    """
    if isinstance(source, Retriever) and type(source).__module__.startswith("citeproof."):
        return source
    if callable(make := getattr(source, "retriever", None)) and isinstance(
        made := make(), Retriever
    ):
        return made
    if isinstance(source, Sequence) and not isinstance(source, (str, bytes)):
        kinds = (Passage, LangChainDocument)
        passages = [as_passage(item) for item in source if isinstance(item, kinds)]
        texts = [item for item in source if isinstance(item, str)]
        if len(passages) == len(source):
            return from_passages(passages)
        if len(texts) == len(source):
            return from_texts(texts)
    one = not inspect.isclass(source) and not isinstance(source, PregelProtocol)
    if one and (isinstance(source, (Retriever, Runnable, VectorStore)) or callable(source)):
        return OwnRetriever(source)
    raise InputError(
        f"A {type(source).__name__} cannot be used as a retriever",
        fix="Pass an Index, a LangChain retriever, a function of the query, a list of passages, "
        "documents or texts, or an object with `async def retrieve(query, k)`.",
    )


def make_retriever(source: str, settings: Settings) -> Retriever:
    """Import a factory (`python:package.module:factory`) and call it.

    It gets the settings if it takes an argument. Its module must be installed or on PYTHONPATH.

    Raises:
        SettingsError: The factory cannot be imported, fails, or makes no retriever.
    """
    what = f"The retriever {source!r} cannot be made"
    made = call_named(
        source, what, lambda factory: factory(settings) if _takes_one(factory) else factory()
    )
    try:
        return coerce_retriever(made)
    except InputError as error:
        raise SettingsError(
            what, why=error.what, fix=error.fix.replace("Pass", "Return")
        ) from error


async def retrieve_many(
    retriever: Retriever, queries: Sequence[str], k: int
) -> list[list[Passage]]:
    """Return the passages that a retriever finds for each query, in one batch if it can."""
    if isinstance(retriever, HybridRetriever):
        return await retriever.retrieve_many(queries, k)
    return await together([partial(retriever.retrieve, query, k) for query in queries], _AT_ONCE)


def _takes_one(factory: object) -> bool:
    try:
        inspect.signature(factory).bind(object())  # type: ignore[arg-type]
    except (TypeError, ValueError):  # ValueError: a built-in without a signature
        return False
    return True
