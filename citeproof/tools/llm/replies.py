"""Reads the replies of chat models: text, JSON, probabilities and token counts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from citeproof.prompts import defuse
from citeproof.text import shorten
from citeproof.tools.sentences import split
from citeproof.types import Usage

END = "DONE"
"""The reply of a model that has nothing to add: the end token of the papers."""

_END = re.compile(rf"^\W*(?:{END}\b|(?i:{END})[\s*_\"”]*(?:[.!]|$))")
"""In another case the token must stand alone: “Done Deal was released in 1998.” is a sentence."""
_TOKEN = re.compile(r'[{}]|"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)
"""A bracket, or a string, which may be cut off."""
_LEAST = 0.05
"""Least probability of all options together: what a model hardly considers tells nothing."""
_ENDS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""OpenAI and Gemini; Anthropic; Bedrock; Ollama."""
_WITHHELD = {
    *("content_filter", "content_filtered", "guardrail_intervened", "refusal"),
    *("safety", "recitation", "prohibited_content", "blocklist", "spii"),
}
_CLOSED = ".!?\"”’')]"
"""The end of a whole sentence."""
_CLAUSES = re.compile(r"(.{20,})[,;:]\s", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters except newline and tab, and lone surrogates, which no file can store."""


def is_end(text: str) -> bool:
    """Whether a text begins with the end token; text after it is ignored."""
    return bool(_END.match(text))


def clean(text: str) -> str:
    """Remove control characters, except newline and tab, and defuse tags.

    A reply becomes part of later prompts, so it is no more trusted than a passage.
    """
    return defuse(_CONTROL.sub("", text))


def said(text: str) -> str:
    """Return the reply, cleaned and without the model's reasoning before it.

    Some servers put the opening tag into the prompt, so the reply may have only the closing one.
    """
    _, closed, spoken = text.partition("</think>")
    return clean(spoken.lstrip() if closed else text)


def is_filtered(message: BaseMessage) -> bool:
    """Whether the provider's content filter withheld the reply."""
    return not message.text and _end_reason(message) in _WITHHELD


def is_cut(message: BaseMessage) -> bool:
    """Whether the token limit ended the reply."""
    return _end_reason(message) in ("length", "max_tokens")


def whole(text: str) -> str:
    """Cut a truncated text back to its last whole sentence, or else to its last clause."""
    spans = split(text)
    if not spans or text[spans[-1].end - 1] in _CLOSED:
        return text
    if before := text[: spans[-1].start].rstrip():
        return before
    clauses = _CLAUSES.match(text)
    return f"{clauses[1]}." if clauses else text


def thought_only(message: BaseMessage) -> bool:
    """Whether a reply was cut off while the model was still reasoning.

    Its text then holds only reasoning, or is empty because the server removed the reasoning.
    """
    if "</think>" in message.text:
        return False
    cut = not message.text and is_cut(message)
    return cut or message.text.lstrip().startswith("<think>")


def first_object(text: str) -> dict[str, Any] | None:
    """Return the first JSON object in the text, which may have other text around it.

    A truncated object does not count, even if it contains a complete one.
    """
    for candidate in _outermost_objects(text):
        try:
            value = json.loads(candidate, strict=False)  # small models write raw newlines
            cleaned = _clean(value)
        except (ValueError, RecursionError):  # RecursionError: thousands of brackets
            continue
        if isinstance(cleaned, dict):
            return cleaned
    return None


def scored_tokens(message: BaseMessage) -> Sequence[Any]:
    """Return the reply's tokens with their probabilities in OpenAI's format, if it has any."""
    logprobs = message.response_metadata.get("logprobs")
    return (logprobs.get("content") if isinstance(logprobs, Mapping) else None) or ()


def option_probabilities(token: Any, options: Sequence[str]) -> dict[str, float] | None:
    """Return the probability of each option at a scored token; they add up to 1.

    Returns None if the token is hardly ever one of the options.
    """
    folded = {option.strip().casefold(): option for option in options}
    found = dict.fromkeys(options, 0.0)
    for likely in token.get("top_logprobs") or [token]:
        option = folded.get(str(likely["token"]).strip().casefold())
        if option is not None and likely["logprob"] is not None:
            found[option] += math.exp(likely["logprob"])
    total = sum(found.values())
    return {option: value / total for option, value in found.items()} if total >= _LEAST else None


def read_option(text: str, options: Sequence[str]) -> str | None:
    """Return the option that the text begins with, as a whole word."""
    said = text.strip().lstrip("\"'*(").casefold()
    for option in sorted(options, key=len, reverse=True):
        wanted = option.strip().casefold()
        rest = said[len(wanted) :]
        if said.startswith(wanted) and not rest[:1].isalnum():
            return option
    return None


def short(text: str) -> str:
    """Return the beginning of a reply, quoted, on one line."""
    return repr(shorten(" ".join(text.split()), 120))


def usage(message: BaseMessage) -> Usage:
    """Return the cost of one call; figures that the provider omits count as zero."""
    told = getattr(message, "usage_metadata", None) or {}
    # OpenAI's service tiers prefix their name: flex_cache_read.
    details = told.get("input_token_details") or {}
    return Usage(
        llm_calls=1,
        prompt_tokens=told.get("input_tokens") or 0,
        cached_tokens=sum(v or 0 for k, v in details.items() if k.endswith("cache_read")),
        completion_tokens=told.get("output_tokens") or 0,
    )


def _end_reason(message: BaseMessage) -> str:
    """Return the provider's reason for the end of the reply, in lower case."""
    told = message.response_metadata
    return str(next((told[name] for name in _ENDS if told.get(name)), "")).lower()


def _outermost_objects(text: str) -> Iterator[str]:
    """Yield each outermost {...}, ignoring brackets inside strings."""
    start = text.find("{")
    while start >= 0:
        depth, end = 0, len(text)
        for token in _TOKEN.finditer(text, start):
            depth += {"{": 1, "}": -1}.get(token[0], 0)
            if depth == 0:
                end = token.end()
                yield text[start:end]
                break
        start = text.find("{", end)


def _clean(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): _clean(inner) for key, inner in value.items()}
    return [_clean(inner) for inner in value] if isinstance(value, list) else value
