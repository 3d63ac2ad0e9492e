"""Typed functions that put a question to any graph and return its `Answer` or its events.

`graph.invoke({"question": …})["answer"]` does the same, with all of LangGraph's options.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig

from citeproof.errors import InputError
from citeproof.runtime.events import EVENTS, AnswerReady, Event
from citeproof.types import Answer

__all__ = ["aanswer", "answer", "astream_events"]


def answer(
    graph: Any,
    question: str,
    *,
    documents: Sequence[Any] = (),
    context: Any = None,
    config: RunnableConfig | None = None,
) -> Answer:
    """Ask a graph a question and return its answer.

    Args:
        graph: Any graph from a question to an `Answer`, such as `build_vtg(tools)` or LangGraph's
            `RemoteGraph` of one, or a chain with such a graph at its end.
        question: The question to answer.
        documents: Passages to answer from instead of the index.
        context: Parameters of this run, such as `{"k": 8}`.
        config: LangGraph's configuration of the run, such as its thread.

    Raises:
        InputError: The question is empty, or the run ended without an answer.
        CiteproofError: The run failed.
    """
    return _answer_in(graph.invoke(_input(question, documents), **_options(context, config)))


async def aanswer(
    graph: Any,
    question: str,
    *,
    documents: Sequence[Any] = (),
    context: Any = None,
    config: RunnableConfig | None = None,
) -> Answer:
    """Ask a graph a question from asynchronous code; see `answer`."""
    asked = _input(question, documents)
    return _answer_in(await graph.ainvoke(asked, **_options(context, config)))


async def astream_events(
    graph: Any,
    question: str,
    *,
    documents: Sequence[Any] = (),
    context: Any = None,
    config: RunnableConfig | None = None,
) -> AsyncIterator[Event]:
    """Ask a graph a question and yield the events of its run; the last one is `AnswerReady`.

    The events of graphs inside the graph are among them, so a claim of a draft is accepted twice:
    by the draft, and by the proof. `graph.astream(…, subgraphs=True)` tells whose an event is.
    Events of other kinds, which custom nodes may write, are skipped. A run that waits for a person
    ends with `ReviewRequested`. For arguments and errors, see `answer`.
    """
    modes = {"stream_mode": ["custom", "updates"], "subgraphs": True}
    run = graph.astream(_input(question, documents), **modes, **_options(context, config))
    is_over, found = False, None
    async for namespace, mode, part in run:
        if mode == "custom" and isinstance(part, EVENTS):
            is_over = is_over or isinstance(part, AnswerReady)
            yield part
        elif mode == "updates" and not namespace:
            is_over = is_over or "__interrupt__" in part
            found = _answer_among(part.values()) or found
    if found is not None and not is_over:  # the caller's own graph announces no answer
        yield AnswerReady(answer=found)


def _input(question: str, documents: Sequence[Any]) -> dict[str, Any]:
    return {"question": question, **({"documents": documents} if documents else {})}


def _options(context: Any, config: RunnableConfig | None) -> dict[str, Any]:
    # The functions of a chain take no context.
    return {"config": config, **({} if context is None else {"context": context})}


def _answer_among(updates: Iterable[Any]) -> Answer | None:
    """The answer that a node of the outermost graph has written."""
    written = [update.get("answer") for update in updates if isinstance(update, Mapping)]
    return next((value for value in written if isinstance(value, Answer)), None)


def _answer_in(result: Any) -> Answer:
    found = result.get("answer") if isinstance(result, dict) else None
    if isinstance(found, Answer):
        return found
    if isinstance(found, Mapping):  # a graph on a server, as JSON
        return Answer.model_validate(found)
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
