"""Readies a model for one call: held to a length, to a schema, or asked for probabilities."""

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
"""How models name the length of a reply."""
_WORDS = {
    "schema": "response_format|schema|structured|grammar|guided|tool|function",
    "logprobs": "logprob|max_(output_|completion_)?tokens",
}
"""How providers name what they refuse."""


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
    """The model as one call needs it; None if it can't be held to a class.

    Args:
        model: Takes what follows in fields of its own, or else with the call.
        max_tokens: Longest reply.
        temperature: By default the model's own.
        sample: A further one shifts the seed, if there is one: else it would be the first again.
        body: Sent beside the fields that the model sends.
        schema: The schema of the reply. A mapping is sent only to models that take one with each
            request.
        arguments: Given with the call as they are.
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


def refusable(arguments: Mapping[str, Any]) -> str:
    """The argument of a call that a provider may refuse, if any."""
    return next((name for name in _WORDS if arguments.get(name)), "")


def refuses(error: Exception, what: str) -> bool:
    """Whether an error says that the provider does not support what is `refusable`."""
    told = str(error)
    refused = status_code(error) in (400, 404, 422, 501)
    refused = refused or isinstance(error, TypeError | NotImplementedError)
    # A prompt that is too long is refused in words that may mention functions or max_tokens.
    return refused and bool(re.search(_WORDS[what], told)) and "context" not in told


def object_text(message: BaseMessage) -> str:
    """The reply's text, or the arguments of the tool call that stands for it."""
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
    """The fields of OpenAI's protocol by which a reply keeps to a schema.

    Given as an argument, as LangChain does it, the client would parse the reply, and throw away
    one that is cut, with what it cost.
    """
    # Classes derived from BaseChatOpenAI alone, such as DeepSeek's, refuse json_schema.
    if not {kind.__name__ for kind in type(model).__mro__} & {"ChatOpenAI", "AzureChatOpenAI"}:
        return {}
    name, form = "reply", schema
    if isinstance(schema, type):
        function = convert_to_openai_function(schema, strict=True)
        name, form = function["name"], _without_defaults(function["parameters"])
    form = {"name": name, "strict": True, "schema": form}
    return {"response_format": {"type": "json_schema", "json_schema": form}}


def _without_defaults(node: Any, *, names: bool = False) -> Any:
    """The schema without `default`, which OpenAI's strict mode refuses."""
    if isinstance(node, dict):
        return {
            key: _without_defaults(value, names=key == "properties" and not names)
            for key, value in node.items()
            if names or key != "default"
        }
    return [_without_defaults(item) for item in node] if isinstance(node, list) else node
