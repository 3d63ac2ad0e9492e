"""LLatrieval as a retriever for any other graph or chain."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config

from citeproof.errors import InputError
from citeproof.runtime.events import AnswerReady, emit
from citeproof.runtime.meter import note, spend
from citeproof.state import Retrieval
from citeproof.tools.retrieval.base import check_k
from citeproof.tools.retrieval.langchain import DocumentRetriever, to_document
from citeproof.types import Answer, Passage

__all__ = ["LLatrievalRetriever"]


class LLatrievalRetriever(DocumentRetriever):
    """A retriever over the graph of LLatrieval, for both LangChain and citeproof.

    `LLatrievalRetriever(graph=build_llatrieval(tools))` works wherever a retriever does, such as in
    `Toolbox(llm, retriever=…)`. It searches what those tools search, and writes no answer. Besides
    the passage's fields, the metadata of each document say whether all documents together were
    `verified` to suffice, and after how many `rounds`.

    Inside a run of another graph, the search keeps to the budget of its own graph. Once it is done,
    its cost counts towards that run.
    """

    graph: Any
    """The graph of `build_llatrieval`."""

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return at most `k` of the passages that the graph chooses; none for an empty query."""
        check_k(k)
        if not query.strip():
            return []
        most = self.graph.context_schema().k
        result = await run_apart(self.graph, query, answer=False, k=min(k, most))
        retrieval: Retrieval = result["retrieval"]
        return list(retrieval.passages)

    async def documents(self, query: str, config: RunnableConfig) -> list[Document]:
        """Return the passages that the graph chooses; none for an empty query."""
        if not query.strip():
            return []
        result = await run_apart(self.graph, query, config=config, answer=False)
        retrieval: Retrieval = result["retrieval"]
        told = {"verified": retrieval.verified, "rounds": len(retrieval.rounds)}
        documents = [to_document(passage) for passage in retrieval.passages]
        for document in documents:
            document.metadata |= told
        return documents


async def run_apart(
    graph: Any, question: str, *, config: RunnableConfig | None = None, **context: Any
) -> dict[str, Any]:
    """Run a graph on a question, outside the current run, and return its result.

    The run has no checkpointer, so a tool may start several at once, and keeps to its own budget.
    Its events, its notes and, once it is done, its cost become those of the calling node. The one
    retrieval that the node counts itself is left out.

    Args:
        graph: A graph that returns an `Answer` under the key `answer`.
        question: The question to ask it.
        config: LangChain's configuration of the run, such as its callbacks.
        **context: Parameters of the run.

    Raises:
        InputError: The graph's result holds no `Answer`.
    """

    async def run() -> dict[str, Any]:
        lone = graph.copy(update={"checkpointer": None})
        stream = lone.astream(
            {"question": question}, config, context=context, stream_mode=["custom", "values"]
        )
        values: dict[str, Any] = {}
        async for mode, part in stream:
            if mode == "values":
                values = part
            elif not isinstance(part, AnswerReady):  # the outer run has an answer of its own
                around.run(emit, part)
        return values

    around = contextvars.copy_context()
    beside = contextvars.copy_context()
    beside.run(var_child_runnable_config.set, None)  # else LangGraph takes it for a subgraph
    result = await asyncio.create_task(run(), context=beside)
    answer = result.get("answer")
    if not isinstance(answer, Answer):
        raise InputError(
            f"The graph {graph.name} cannot be searched with",
            why="it gave no Answer",
            fix="Pass a graph of build_llatrieval.",
        )
    left = max(answer.usage.retrievals - 1, 0)
    spend(answer.usage.model_copy(update={"retrievals": left}))
    for text in answer.notes:
        note(text)
    return result
