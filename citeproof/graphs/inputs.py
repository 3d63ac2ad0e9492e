"""Rejects inputs that a graph would ignore silently or fail on with another library's error."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any, cast, get_type_hints

from langchain_core.messages import HumanMessage, convert_to_messages
from langchain_core.runnables.config import DEFAULT_RECURSION_LIMIT
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import get_runtime
from langgraph.types import Command, Overwrite
from pydantic import BaseModel

from citeproof.errors import InputError, SettingsError
from citeproof.parameters import Parameters, parameters_from
from citeproof.runtime.place import fields_of
from citeproof.tools.questions.sources import read_documents, validate_question

__all__ = ["check_context", "check_input", "check_runs"]

_STEPS = 25_000
"""Maximum number of steps in a run. Routes count rounds themselves; this catches their bugs."""


def check_runs(
    graph: Any, question: type[Any], parameters: type[Parameters]
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph; its runs check their input and have a recursion limit that none reaches.

    Args:
        graph: A compiled graph.
        question: The schema of its input.
        parameters: Its parameters.
    """
    steps = (graph.config or {}).get("recursion_limit", _STEPS)

    def checked(stream: Callable[..., Any]) -> Callable[..., Any]:
        def checked_stream(input: Any, config: Any = None, **options: Any) -> Any:  # noqa: A002
            check_input(input, question, parameters)
            check_context(options.get("context"), parameters)
            check_turn(input)
            # In `batch` and in chains, langchain-core passes its own default of 25 steps as if the
            # caller had set it, and LangGraph's `ensure_config` takes any number for the caller's.
            limit = (config or {}).get("recursion_limit", DEFAULT_RECURSION_LIMIT)
            if limit == DEFAULT_RECURSION_LIMIT:
                config = {**(config or {}), "recursion_limit": steps}
            return stream(input, config, **options)

        return checked_stream

    for way in ("stream", "astream"):
        setattr(graph, way, checked(getattr(graph, way)))
    copy = graph.copy  # by which `with_config` makes a graph without the wrappers
    graph.copy = lambda update=None: check_runs(copy(update), question, parameters)
    return cast("CompiledStateGraph[Any, Any, Any, Any]", graph)


def check_input(value: object, schema: type[Any], parameters: type[BaseModel]) -> None:
    """Reject an input that is not a dict or has keys that the graph does not read.

    Inside a run, every key is accepted, since LangGraph passes the whole outer state to a
    subgraph. This state may be a pydantic model or a dataclass.

    Args:
        value: The input of the call. None and a `Command` resume a run.
        schema: The graph's input schema, a pydantic model or a `TypedDict`.
        parameters: The graph's parameters, which are not part of the input.

    Raises:
        InputError: The value is not a valid input.
    """
    if value is None or isinstance(value, Command):
        return
    shown, known = _keys(schema)
    if not isinstance(value, Mapping | BaseModel) and not is_dataclass(value):
        raise InputError(
            "The input is not a dict",
            why=f"it is of type {type(value).__name__}",
            fix=f'Pass a dict with {_join(shown)}, such as {{"{shown[0]}": "…"}}.',
        )
    unknown = [key for key, _ in fields_of(value) if key not in known]
    if unknown and not _in_a_run():
        key = str(unknown[0])
        raise InputError(
            f"The input has an unknown key {key!r}", fix=_advice(key, shown, parameters)
        )


def check_turn(value: object) -> None:
    """Reject a message or documents that no run can read, before a checkpointer keeps the message.

    Otherwise the thread would take the message for a question that waits to be answered.

    Raises:
        InputError: The message or a document is unusable, or the input has another question beside
            the message, which would be ignored.
    """
    given = dict(fields_of(value))
    messages = _without_overwrite(given.get("messages"))
    if messages and not _in_a_run():
        listed = messages if isinstance(messages, list) else [messages]
        last = convert_to_messages(listed)[-1]
        if isinstance(last, HumanMessage):
            said = validate_question(str(last.text))
            if (question := given.get("question")) and question != said:
                raise InputError(
                    "The input has two questions",
                    why="`question` differs from the last of the `messages`",
                    fix="Leave one of them out; earlier messages may stay.",
                )
        documents = given.get("documents") or ()
        if not isinstance(documents, Iterator):  # which can be read only once
            read_documents(documents)


def check_context(context: object, parameters: type[Parameters]) -> None:
    """Reject a context that holds no parameters of the graph, which would be ignored silently.

    Raises:
        SettingsError: The context is neither a dict nor the graph's parameters.
    """
    known = isinstance(context, Mapping) or parameters_from(context, parameters)
    if context is not None and not known and not _in_a_run():
        name = parameters.__name__
        raise SettingsError(
            "The context of the run is not used",
            why=f"it is of type {type(context).__name__}",
            fix=f'Pass a dict of parameters, such as {{"max_calls": 20}}, or {name}.',
        )


def _without_overwrite(messages: Any) -> Any:
    """The messages, also those that replace the thread's, in any form that LangGraph accepts."""
    if isinstance(messages, Overwrite):
        return messages.value
    if isinstance(messages, dict):
        if messages.get("type") == "__overwrite__":
            return messages.get("value")
        return messages.get("__overwrite__", messages)
    return messages


def _advice(key: str, shown: list[str], parameters: type[BaseModel]) -> str:
    if key in parameters.model_fields:
        return f'It is a parameter: pass context={{"{key}": …}} in addition to the input.'
    if near := difflib.get_close_matches(key, shown, n=1):
        return f"Did you mean {near[0]!r}?"
    return f"The graph reads {_join(shown)}."


def _keys(schema: type[Any]) -> tuple[list[str], set[str]]:
    """The keys that a caller may set, and all keys that the graph accepts."""
    if issubclass(schema, BaseModel):
        return list(schema.model_json_schema()["properties"]), set(schema.model_fields)
    keys = list(get_type_hints(schema))
    return keys, set(keys)


def _join(keys: list[str]) -> str:
    return ", ".join(map(repr, keys))


def _in_a_run() -> bool:
    try:
        get_runtime()
    except RuntimeError:  # called outside any graph
        return False
    return True
