"""LangChain tools over a toolbox, for `create_agent` and anything else that takes tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field

from citeproof.asking import aanswer
from citeproof.errors import CiteproofError, InputError, SettingsError
from citeproof.graphs.registry import find_method
from citeproof.runtime.background import run_in_background
from citeproof.tools.checking.check import check
from citeproof.tools.citations.marks import strip_marks
from citeproof.tools.toolbox import Toolbox
from citeproof.types import Answer, CheckedSentence, CheckReport, Passage

__all__ = [
    "ask_tool",
    "check_tool",
    "check_with_index",
    "say_answer",
    "say_passages",
    "say_report",
]


async def check_with_index(tools: Toolbox, text: str, k: int = 5) -> CheckReport:
    """Check a text against the index.

    Its citation marks are removed first, since numbers cite nothing in an index. A sentence that a
    passage supports is therefore `uncited`.

    Raises:
        InputError: There is no index.
        RetrievalError: The search failed.
        ModelError: The entailment model is unavailable.
    """
    if tools.retriever is None:
        raise InputError("There is no index to check against", fix="Give the Toolbox a retriever.")
    return await check(strip_marks(text), [], tools.entailment, retriever=tools.retriever, k=k)


def check_tool(tools: Toolbox) -> BaseTool:
    """Build the tool `check`, which says for each sentence of a text if the index supports it.

    Its artifact is the `CheckReport`.
    """

    async def check_text(text: str) -> tuple[str, CheckReport]:
        report = await check_with_index(tools, text)
        return say_report(report), report

    return _tool(check_text, "check", _Text)


def ask_tool(
    tools: Toolbox | Runnable[Any, Any], method: str = "vtg", **parameters: Any
) -> BaseTool:
    """Build the tool `ask`, which answers a question from the index and proves each sentence.

    Its artifact is the `Answer`.

    Args:
        tools: The models and the retriever that the method runs on; or a graph from a question to
            an `Answer`, which then answers instead of a method.
        method: Name of the method, as listed by `citeproof methods`.
        **parameters: Parameters of the method, such as `max_trials=1`.

    Raises:
        SettingsError: There is no such method or parameter, or a graph is given parameters.
    """
    if isinstance(tools, Runnable):
        if parameters:
            raise SettingsError(
                f"The graph takes no {', '.join(parameters)} here",
                fix="Give its parameters to its builder.",
            )
        graph: Any = tools
    else:
        graph = find_method(method).build(tools, **parameters)

    async def answer_question(question: str) -> tuple[str, Answer]:
        result = await aanswer(graph, question)
        return say_answer(result), result

    return _tool(answer_question, "ask", _Question)


class _Text(BaseModel):
    """Say for each sentence of a text whether the indexed documents support it.

    Give it what you are about to send, and correct what is unsupported or contradicted.
    """

    text: str = Field(description="Sentences; Markdown is understood.")


class _Question(BaseModel):
    """Answer a question from the indexed documents.

    The answer cites its sources, and each of its sentences was checked against them.
    """

    question: str = Field(description="One question, in words.")


def _tool(
    work: Callable[..., Coroutine[Any, Any, tuple[str, Any]]], name: str, schema: type[BaseModel]
) -> BaseTool:
    """Build a tool for sync and async callers; the agent sees expected errors as its output."""

    async def run(*text: str, **arguments: Any) -> tuple[str, Any]:  # `tool.invoke("…")` is allowed
        try:
            return await work(*text, **arguments)
        except CiteproofError as error:
            raise ToolException(str(error)) from error

    return StructuredTool.from_function(
        lambda *text, **arguments: run_in_background(lambda: run(*text, **arguments)),
        run,
        name=name,
        description=inspect.getdoc(schema),
        args_schema=schema,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def say_answer(answer: Answer) -> str:
    """Put an answer into text: its numbered sources, its status and the claims that failed."""
    sources = [f"[{number}] {_place(one)}" for number, one in enumerate(answer.passages, start=1)]
    failed = [claim for claim in answer.claims if claim.verdict.failed]
    lines = [answer.text or "No answer.", *sources, answer.status.replace("_", " ")]
    if answer.reason:
        lines[-1] += f": {answer.reason}"
    return "\n".join([*lines, *(f"{claim.verdict.status}: {claim.text}" for claim in failed)])


def say_report(report: CheckReport) -> str:
    """Put a report into lines, one per sentence: its verdict, and what contradicts it."""
    return "\n".join(map(_verdict, report.sentences)) or "There is no sentence to check."


def say_passages(passages: Sequence[Passage]) -> str:
    """Put passages into text, each with its id and place."""
    blocks = [f"{one.id}: {_place(one)}\n{one.text}" for one in passages]
    return "\n\n".join(blocks) or "Nothing was found."


def _verdict(sentence: CheckedSentence) -> str:
    line = f"{sentence.verdict}: {sentence.text}"
    for support in sentence.against:
        line += f" ({support.passage.place} says: “{support.sentence or support.passage.text}”)"
    return line


def _place(passage: Passage) -> str:
    known = passage.source and passage.source != passage.title
    return f"{passage.place} ({passage.source})" if known else passage.place
