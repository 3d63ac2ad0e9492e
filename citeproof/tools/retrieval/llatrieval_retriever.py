"""LLatrieval as a retriever, for any other graph or chain to stand on."""

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
from citeproof.runtime.nested import run_apart
from citeproof.state import Retrieval
from citeproof.tools.retrieval.base import check_k
from citeproof.tools.retrieval.langchain import to_document
from citeproof.types import Passage

__all__ = ["LLatrievalRetriever"]


class LLatrievalRetriever(BaseRetriever):
    """A LangChain retriever, and one of citeproof's, over the graph of LLatrieval.

    `LLatrievalRetriever(graph=build_llatrieval(tools))` goes wherever a retriever does, such as
    `Toolbox(llm, retriever=…)`, and searches what those tools search. No answer is written. The
    metadata of each document say, beside the passage's fields, whether all documents together
    were `verified` to suffice, and after how many `rounds`. Inside a run of another graph the
    search counts towards the cost of that run, once it is done; while it goes on, it keeps to
    the budget of its own graph.
    """

    graph: Any
    """The graph of `build_llatrieval`."""

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """At most `k` passages, and no more than the graph chooses; none for an empty query.

        Raises:
            InputError: `k` is less than 1.
            RetrievalError: The search below failed.
            ModelError: The model does not answer.
        """
        check_k(k)
        if not query.strip():
            return []
        most = self.graph.context_schema().k
        result = await run_apart(self.graph, query, answer=False, k=min(k, most))
        retrieval: Retrieval = result["retrieval"]
        return list(retrieval.passages)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if not query.strip():
            return []
        config: RunnableConfig = {"callbacks": run_manager.get_child()}
        return _documents(await run_apart(self.graph, query, config=config, answer=False))

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        if not query.strip():
            return []
        config: RunnableConfig = {"callbacks": run_manager.get_child()}
        search = partial(run_apart, self.graph, query, config=config, answer=False)
        return _documents(run_in_background(search))


def _documents(result: dict[str, Any]) -> list[Document]:
    retrieval: Retrieval = result["retrieval"]
    told = {"verified": retrieval.verified, "rounds": len(retrieval.rounds)}
    documents = [to_document(passage) for passage in retrieval.passages]
    for document in documents:
        document.metadata |= told
    return documents
