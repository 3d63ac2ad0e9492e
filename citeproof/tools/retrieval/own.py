"""Makes retrievers from the caller's own functions and objects, and checks what they find."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.vectorstores import VectorStore
from langgraph.errors import GraphBubbleUp

from citeproof.errors import CiteproofError, RetrievalError
from citeproof.runtime.background import call_in_thread
from citeproof.state.documents import as_passage
from citeproof.tools.retrieval.base import check_k
from citeproof.types import Passage


class OwnRetriever:
    """A retriever of the caller's: it may be plain or async, and find passages or documents.

    A vector store and an object with `retrieve(query, k)` are asked for `k` passages. A LangChain
    retriever or chain and a function get the query, and return as many as they choose, of which the
    first `k` different ones are taken. A function may also take the run's `config`.
    """

    def __init__(self, source: Any) -> None:
        is_function = not hasattr(source, "retrieve") and callable(source)
        own = isinstance(source, (Runnable, VectorStore))
        self.source = RunnableLambda(source) if is_function and not own else source

    @property
    def name(self) -> str:
        """The name in error messages."""
        source = self.source
        return source.get_name() if isinstance(source, Runnable) else type(source).__name__

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return at most `k` different passages, the best first; none for an empty query."""
        check_k(k)
        if not query.strip():
            return []
        try:
            found = await self._search(query, k)
        except (CiteproofError, GraphBubbleUp):  # the latter interrupts a run
            raise
        except Exception as error:  # foreign code may raise anything
            raise RetrievalError(
                f"The retriever {self.name} failed", why=f"{type(error).__name__}: {error}"
            ) from error
        is_list = isinstance(found, Sequence) and not isinstance(found, str)
        passages: dict[str, Passage] = {}
        for one in found if is_list else [found]:
            if not isinstance(one, Passage | Document):
                raise RetrievalError(
                    f"The retriever {self.name} cannot be used",
                    why=f"it gave a {type(one).__name__} instead of a Document",
                    fix="Return a list of passages or LangChain documents, the best first.",
                )
            passage = as_passage(one)
            if passage.text.strip():
                passages.setdefault(passage.id, passage)
        return list(passages.values())[:k]

    async def _search(self, query: str, k: int) -> Any:
        if hasattr(self.source, "retrieve"):
            return await call_in_thread(self.source.retrieve, query, k)
        if isinstance(self.source, VectorStore):
            return await self.source.asimilarity_search(query, k=k)
        return await self.source.ainvoke(query)

    def close(self) -> None:
        """Close the source if it has a `close` method."""
        getattr(self.source, "close", lambda: None)()
