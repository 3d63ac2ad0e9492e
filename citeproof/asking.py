"""Typed functions that put a question to any graph and return its `Answer` or its events.

`graph.invoke({"question": …})["answer"]` does the same, with all of LangGraph's options.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, TypedDict, Unpack, get_args

from langchain_core.runnables import RunnableConfig

from citeproof.errors import InputError
from citeproof.runtime.events import Event
from citeproof.types import Answer

__all__ = ["aanswer", "answer", "astream_events"]

_EVENTS = get_args(get_args(Event)[0])


class Options(TypedDict, total=False):
    """The options of a question."""

    documents: Sequence[Any]
    """Passages to answer from instead of the index."""
    context: Any
    """Parameters of this run, such as `{"k": 8}`."""
    config: RunnableConfig | None
    """LangGraph's configuration of the run, such as its thread."""


def answer(graph: Any, question: str, **options: Unpack[Options]) -> Answer:
    """Ask a graph a question and return its answer.

    Args:
        graph: Any graph from a question to an `Answer`, such as `build_vtg(tools)`.
        question: The question to answer.
        **options: `documents`, `context`, `config`; see `Options`.

    Raises:
        InputError: The question is empty, or the run ended without an answer.
        CiteproofError: The run failed.
    """
    given, how = _arguments(question, **options)
    return _answer_in(graph.invoke(given, **how))


async def aanswer(graph: Any, question: str, **options: Unpack[Options]) -> Answer:
    """Ask a graph a question from asynchronous code; see `answer`."""
    given, how = _arguments(question, **options)
    return _answer_in(await graph.ainvoke(given, **how))


async def astream_events(
    graph: Any, question: str, **options: Unpack[Options]
) -> AsyncIterator[Event]:
    """Ask a graph a question and yield the events of its run; the last one is `AnswerReady`.

    Events of other kinds, which custom nodes may write, are skipped. For arguments and errors, see
    `answer`.
    """
    given, how = _arguments(question, **options)
    async for event in graph.astream(given, stream_mode="custom", **how):
        if isinstance(event, _EVENTS):
            yield event


def _arguments(
    question: str,
    *,
    documents: Sequence[Any] = (),
    context: Any = None,
    config: RunnableConfig | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The input of a graph, and the keyword arguments of its run."""
    given = {"documents": list(documents)} if documents else {}
    return {"question": question, **given}, {"context": context, "config": config}


def _answer_in(result: Any) -> Answer:
    found = result.get("answer") if isinstance(result, dict) else None
    if isinstance(found, Answer):
        return found
    if isinstance(result, dict) and "__interrupt__" in result:
        raise InputError(
            "The run waits for a person",
            why="a claim awaits review",
            fix="Call graph.invoke, and resume the run with Command(resume=…) on its thread.",
        )
    raise InputError(
        "The graph returned no Answer",
        why=f"its result is of type {type(result).__name__}, with no Answer under 'answer'",
        fix="Give the graph's output the key 'answer'.",
    )
