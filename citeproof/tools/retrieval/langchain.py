"""Citeproof's retrievers as LangChain's."""

from __future__ import annotations

from functools import partial
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig

from citeproof.runtime.background import run_in_background
from citeproof.tools.retrieval.base import Retriever
from citeproof.types import Passage


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


def to_document(passage: Passage) -> Document:
    """Return a LangChain document with the passage's fields as metadata."""
    data = passage.model_dump(exclude={"text"}, exclude_none=True)
    return Document(page_content=passage.text, metadata=data, id=passage.id)
