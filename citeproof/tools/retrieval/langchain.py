"""Converts between LangChain's retrievers and citeproof's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.vectorstores import VectorStore

from citeproof.errors import CiteproofError, InputError, RetrievalError
from citeproof.runtime.background import run_in_background
from citeproof.tools.documents.base import whole
from citeproof.tools.retrieval.base import Retriever, check_k
from citeproof.types import Passage


class LangChainRetriever:
    """A LangChain retriever or vector store that finds passages.

    A vector store is asked for `k` documents. A retriever returns as many as it is configured for,
    of which the first `k` different ones are taken.
    """

    def __init__(self, retriever: BaseRetriever | VectorStore) -> None:
        self.retriever = retriever

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return at most `k` passages, the best first; none for an empty query."""
        check_k(k)
        if not query.strip():
            return []
        name = type(self.retriever).__name__
        try:
            if isinstance(self.retriever, VectorStore):
                documents = await self.retriever.asimilarity_search(query, k=k)
            else:
                documents = await self.retriever.ainvoke(query)
        except CiteproofError:
            raise
        except Exception as error:  # a foreign retriever or service may raise anything
            raise RetrievalError(
                f"The retriever {name} failed", why=f"{type(error).__name__}: {error}"
            ) from error
        found: dict[str, Passage] = {}
        for document in documents if isinstance(documents, list) else [documents]:
            if not isinstance(document, Document):
                raise RetrievalError(
                    f"The retriever {name} cannot be used",
                    why=f"it gave a {type(document).__name__} instead of a Document",
                )
            if document.page_content.strip():
                passage = to_passage(document)
                found.setdefault(passage.id, passage)
        return list(found.values())[:k]


class DocumentRetriever(BaseRetriever):
    """A LangChain retriever whose one method to write, `documents`, also serves blocking calls."""

    async def documents(self, query: str, config: RunnableConfig) -> list[Document]:
        """Return the documents for a query; `config` has the callbacks of the search."""
        raise NotImplementedError

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return await self.documents(query, {"callbacks": run_manager.get_child()})

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        config: RunnableConfig = {"callbacks": run_manager.get_child()}
        return run_in_background(partial(self.documents, query, config))


class AsLangChain(DocumentRetriever):
    """A citeproof retriever as a LangChain one; its documents carry the passages' fields."""

    source: Any
    k: int = 5

    async def documents(self, query: str, config: RunnableConfig) -> list[Document]:
        """Return the passages that the retriever finds."""
        return [to_document(passage) for passage in await self.source.retrieve(query, self.k)]


def as_langchain(retriever: Retriever, k: int = 5) -> BaseRetriever:
    """Return a LangChain retriever over a citeproof one, which returns `k` documents."""
    return AsLangChain(source=retriever, k=k)


def to_passage(document: Document) -> Passage:
    """Make a passage from a LangChain document.

    Its id is the document's own, or else made from source and text: an `id` in the metadata often
    belongs to a larger document, of which this is a piece.
    """
    data: Mapping[str, Any] = document.metadata or {}
    text = whole(document.page_content)
    source = str(data.get("source") or data.get("url") or data.get("link") or "")
    page = _number(data.get("page"))
    if page is not None and "total_pages" in data:
        page += 1  # LangChain's PDF loaders count pages from 0
    start = _number(data.get("start", data.get("start_index"))) or 0
    start = max(start, 0)  # LangChain's splitters write -1 if they do not know it
    return Passage(
        id=document.id or Passage.make_id(source, text, start),
        text=text,
        title=str(data.get("title") or ""),
        source=source,
        page=page or None,
        start=start,
        end=start + len(text),
    )


def as_passage(value: Passage | Document) -> Passage:
    """Return a passage unchanged, or make one from a LangChain document.

    Raises:
        InputError: The value is neither.
    """
    if isinstance(value, Passage):
        return value
    if not isinstance(value, Document):
        raise InputError(
            f"A {type(value).__name__} is not a passage",
            fix="Give `Passage` objects or LangChain documents.",
        )
    return to_passage(value)


def to_document(passage: Passage) -> Document:
    """Return a LangChain document with the passage's fields as metadata."""
    data = passage.model_dump(exclude={"text"}, exclude_none=True)
    return Document(page_content=passage.text, metadata=data, id=passage.id)


def _number(value: object) -> int | None:
    """Return a whole number, which some vector stores return as a float."""
    try:
        return int(float(str(value)))
    except (ValueError, OverflowError):
        return None
