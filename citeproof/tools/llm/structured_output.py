"""Prepares a model for one call: sets its length limit, its schema, or asks for probabilities."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_function
from pydantic import BaseModel

from citeproof.tools.llm.replies import clean
from citeproof.tools.llm.retries import status_code

_LIMITS = ("max_tokens", "max_output_tokens", "num_predict")
"""Names that models use for the length of a reply."""
_WORDS = {
    "schema": "response_format|schema|structured|grammar|guided|tool|function",
    "logprobs": "logprob|max_(output_|completion_)?tokens",
    "stop": r"\bstop\b|stop_sequences",
}
"""Words that providers use for arguments that they refuse."""
_TOO_LONG = re.compile(r"context[ _](?:length|window|size|limit)|maximum context", re.IGNORECASE)


def prepare(
    model: BaseChatModel,
    *,
    max_tokens: int,
    temperature: float | None = None,
    sample: int = 0,
    body: Mapping[str, Any] | None = None,
    schema: Mapping[str, Any] | type[BaseModel] | None = None,
    **arguments: Any,
) -> Runnable[Any, Any] | None:
    """Return the model with the settings of one call; None if it does not support a class schema.

    Settings that are not among the model's fields are passed with the call, as are `arguments`.

    Args:
        model: The chat model.
        max_tokens: Most tokens of the reply.
        temperature: Defaults to the model's own.
        sample: Added to the model's seed, if it has one, so that samples differ.
        body: Extra fields of the request body.
        schema: A mapping is sent only to models that accept one with each request.
        **arguments: Such as `logprobs`.
    """
    fields = type(model).model_fields
    wanted: dict[str, Any] = {next((n for n in _LIMITS if n in fields), _LIMITS[0]): max_tokens}
    if temperature is not None:
        wanted["temperature"] = temperature
    if sample and isinstance(seed := getattr(model, "seed", None), int):
        wanted["seed"] = seed + sample
    form = _response_format(model, schema) if schema else {}
    if more := {**(body or {}), **form}:
        wanted["extra_body"] = {**(getattr(model, "extra_body", None) or {}), **more}
    if known := {name: value for name, value in wanted.items() if name in fields}:
        model = model.model_copy(update=known)
    if isinstance(schema, type) and not form:
        return _by_tool(model, schema)
    return model.bind(**arguments, **{k: v for k, v in wanted.items() if k not in fields})


def refusable(arguments: Mapping[str, Any]) -> list[str]:
    """Return the arguments of a call that a provider may refuse."""
    return [name for name in _WORDS if arguments.get(name)]


def refuses(error: Exception, what: str) -> bool:
    """Whether an error says that the provider does not support a `refusable` argument."""
    told = str(error)
    refused = status_code(error) in (400, 403, 404, 422, 501)
    refused = refused or isinstance(error, TypeError | NotImplementedError)
    # The refusal of an overlong prompt may mention functions or max_tokens.
    return refused and bool(re.search(_WORDS[what], told)) and not _TOO_LONG.search(told)


def object_text(message: BaseMessage) -> str:
    """Return the reply's text, or the arguments of the tool call that replaces it."""
    calls = getattr(message, "tool_calls", None)
    return clean(json.dumps(calls[0]["args"]) if calls else message.text)


def _by_tool(model: BaseChatModel, schema: type[BaseModel]) -> Runnable[Any, Any] | None:
    own = (type(model).bind_tools, type(model).with_structured_output)
    if own == (BaseChatModel.bind_tools, BaseChatModel.with_structured_output):
        return None
    return model.with_structured_output(schema, include_raw=True).pick("raw")


def _response_format(
    model: BaseChatModel, schema: Mapping[str, Any] | type[BaseModel]
) -> dict[str, Any]:
    """Return the fields of OpenAI's protocol that hold a reply to a schema.

    LangChain passes the schema as an argument. The client then parses the reply itself, and
    discards a truncated one together with its token counts.
    """
    # Classes that derive from BaseChatOpenAI only, such as DeepSeek's, refuse json_schema.
    if not {kind.__name__ for kind in type(model).__mro__} & {"ChatOpenAI", "AzureChatOpenAI"}:
        return {}
    name, form = "reply", schema
    if isinstance(schema, type):
        function = convert_to_openai_function(schema, strict=True)
        name, form = function["name"], _without_defaults(function["parameters"])
    form = {"name": name, "strict": True, "schema": form}
    return {"response_format": {"type": "json_schema", "json_schema": form}}


def _without_defaults(node: Any, *, names: bool = False) -> Any:
    """Return the schema without `default`, which OpenAI's strict mode refuses."""
    if isinstance(node, dict):
        return {
            key: _without_defaults(value, names=key == "properties" and not names)
            for key, value in node.items()
            if names or key != "default"
        }
    return [_without_defaults(item) for item in node] if isinstance(node, list) else node
