"""Runs a graph from within a node, for tools that search with one."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config

from citeproof.errors import InputError
from citeproof.runtime.events import AnswerReady, emit
from citeproof.runtime.meter import note, spend
from citeproof.types import Answer


async def run_apart(
    graph: Any, question: str, *, config: RunnableConfig | None = None, **context: Any
) -> dict[str, Any]:
    """The graph's result for a question, in a run beside the current one and not part of it.

    It has no checkpointer, so a tool may run it several times at once, and keeps to its own budget.
    Its events, its notes and, once it is done, its cost become those of the node that asks; the one
    retrieval that the node counts for itself is left out.

    Args:
        graph: Gives an `Answer` under the key `answer`.
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
            elif not isinstance(part, AnswerReady):  # the run around it has an answer of its own
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
            fix="Give what build_llatrieval gives.",
        )
    left = max(answer.usage.retrievals - 1, 0)
    spend(answer.usage.model_copy(update={"retrievals": left}))
    for text in answer.notes:
        note(text)
    return result
