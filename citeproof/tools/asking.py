"""Puts one call to a chat model in the way that its class understands."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from citeproof.prompts import Prompt
from citeproof.tools.failures import status_code
from citeproof.tools.replies import clean

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import RunnableConfig

__all__ = [
    "LOGPROB_WORDS",
    "SCHEMA_WORDS",
    "RefusedError",
    "Run",
    "few_tokens",
    "first_token",
    "held",
    "limited",
    "messages_of",
    "object_text",
    "refuses",
    "structured",
]

SCHEMA_WORDS = "response_format|schema|structured|grammar|guided|tool|function"
LOGPROB_WORDS = "logprob|max_(output_|completion_)?tokens"
"""How providers name what they refuse, as regular expressions."""

Run = Callable[["BaseChatModel", list["BaseMessage"], "RunnableConfig"], Awaitable["BaseMessage"]]
"""One attempt: model, messages and config (which names the role, for traces) to the reply."""


class RefusedError(Exception):
    """The provider does not support what was asked for beside the text."""


def refuses(error: Exception, words: str) -> bool:
    """Whether an error says that something, told by words (a regular expression), is refused."""
    told = str(error)
    refused = status_code(error) in (400, 404, 422, 501)
    refused = refused or isinstance(error, TypeError | NotImplementedError)
    # A prompt that is too long is refused in words that may mention functions or max_tokens.
    return refused and bool(re.search(words, told)) and "context" not in told


def messages_of(prompt: Prompt) -> list[BaseMessage]:
    """The prompt as messages: system line, then context and task, then a reply that is begun."""
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    # The shared prefix goes first, so that the server reads it once for all nodes.
    asked = HumanMessage("\n\n".join(part for part in (prompt.context, prompt.task) if part))
    messages = [SystemMessage(prompt.system)] if prompt.system else []
    return [*messages, asked, *([AIMessage(prompt.begun)] if prompt.begun else [])]


def limited(
    model: BaseChatModel, max_tokens: int, temperature: float | None, sample: int = 0
) -> tuple[BaseChatModel, dict[str, Any]]:
    """The model and the arguments of a call that keep to a length and a temperature.

    A further sample shifts the model's seed, if it has one: else it would be the first again.
    """
    fields = type(model).model_fields
    limits = ("max_tokens", "max_output_tokens", "num_predict")
    limit = next((name for name in limits if name in fields), "max_tokens")
    wanted: dict[str, Any] = {limit: max_tokens}
    if temperature is not None:
        wanted["temperature"] = temperature
    if sample and isinstance(seed := getattr(model, "seed", None), int):
        wanted["seed"] = seed + sample
    if limit == "max_tokens":
        return model, wanted
    # Google's and Ollama's classes take these as fields only, not with each call.
    return model.model_copy(update=wanted), {}


async def first_token(
    model: BaseChatModel, messages: list[BaseMessage], config: RunnableConfig
) -> BaseMessage:
    """A reply of one token, with the likeliest tokens in its place."""
    model, arguments = limited(model, 1, None)
    return await model.ainvoke(messages, config, logprobs=True, top_logprobs=20, **arguments)


async def few_tokens(
    model: BaseChatModel, messages: list[BaseMessage], config: RunnableConfig
) -> BaseMessage:
    """A short reply, for a model that gives no probabilities."""
    model, arguments = limited(model, 16, None)
    return await model.ainvoke(messages, config, **arguments)


def structured(
    model: BaseChatModel, schema: type[BaseModel], max_tokens: int, temperature: float | None
) -> Run | None:
    """How this kind of model is held to a schema; None if it can't be."""
    from langchain_core.language_models import BaseChatModel as Base

    async def by_format(
        model: BaseChatModel, messages: list[BaseMessage], config: RunnableConfig
    ) -> BaseMessage:
        model, arguments = limited(model, max_tokens, temperature)
        bound = model.bind(response_format=_response_format(schema), **arguments)
        try:
            return await bound.ainvoke(messages, config)
        except Exception as error:
            if (cut := _cut_reply(error)) is None:
                raise
            return cut

    async def by_tool(
        model: BaseChatModel, messages: list[BaseMessage], config: RunnableConfig
    ) -> BaseMessage:
        fields = type(model).model_fields
        copied, arguments = limited(model, max_tokens, temperature)
        known = {key: value for key, value in arguments.items() if key in fields}
        asked = copied.model_copy(update=known).with_structured_output(schema, include_raw=True)
        answer = cast("dict[str, Any]", await asked.ainvoke(messages, config))
        return cast("BaseMessage", answer["raw"])

    if _takes_format(model):
        return by_format
    own = (type(model).bind_tools, type(model).with_structured_output)
    return by_tool if own != (Base.bind_tools, Base.with_structured_output) else None


def held(model: BaseChatModel, schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a call is given beside its messages so that its reply keeps to a JSON schema.

    Empty where this kind of model is not held so; its task has to say the form in words.
    """
    if not _takes_format(model):
        return {}
    form = {"name": "reply", "strict": True, "schema": dict(schema)}
    # Given as an argument, the client would parse the reply, and throw away one that is cut.
    return body(model, {"response_format": {"type": "json_schema", "json_schema": form}})


def body(model: BaseChatModel, more: Mapping[str, Any]) -> dict[str, Any]:
    """What a call is given so that these fields are sent beside those that the model sends."""
    return {"extra_body": {**(getattr(model, "extra_body", None) or {}), **more}}


def _takes_format(model: BaseChatModel) -> bool:
    # Classes derived from BaseChatOpenAI alone, such as DeepSeek's, refuse json_schema.
    return bool({kind.__name__ for kind in type(model).__mro__} & {"ChatOpenAI", "AzureChatOpenAI"})


def _response_format(schema: type[BaseModel]) -> dict[str, Any]:
    from langchain_core.utils.function_calling import convert_to_openai_function

    function = convert_to_openai_function(schema, strict=True)
    form = _without_defaults(function["parameters"])
    name = function["name"]
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": form}}


def _without_defaults(node: Any, *, names: bool = False) -> Any:
    """The schema without `default`, which OpenAI's strict mode refuses."""
    if isinstance(node, dict):
        return {
            key: _without_defaults(value, names=key == "properties" and not names)
            for key, value in node.items()
            if names or key != "default"
        }
    return [_without_defaults(item) for item in node] if isinstance(node, list) else node


def _cut_reply(error: Exception) -> BaseMessage | None:
    """The reply that openai's client throws away because it reached `max_tokens`."""
    from langchain_core.messages import AIMessage

    completion = getattr(error, "completion", None)
    if type(error).__name__ != "LengthFinishReasonError" or completion is None:
        return None
    spent = completion.usage.model_dump() if completion.usage else {}
    text = completion.choices[0].message.content or ""
    return AIMessage(text, response_metadata={"token_usage": spent})


def object_text(message: BaseMessage) -> str:
    """The reply's text, or the arguments of the tool call that stands for it."""
    calls = getattr(message, "tool_calls", None)
    return clean(json.dumps(calls[0]["args"]) if calls else message.text)
