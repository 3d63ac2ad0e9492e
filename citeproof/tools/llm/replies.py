"""Reads what a chat model sends back: text, JSON, probabilities and token counts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from citeproof.prompts import defuse
from citeproof.tools.sentences import split
from citeproof.types import Usage

END = "DONE"
"""The reply of a model that has nothing left to say: the end token of the papers."""

_END = re.compile(rf"^\W*(?:{END}\b|(?i:{END})[\s*_\"”]*(?:[.!]|$))")
"""In other letters it must stand alone: “Done Deal was released in 1998.” is a sentence."""
_TOKEN = re.compile(r'[{}]|"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)
"""A bracket, or a string, be it cut off."""
_CLOSED = ".!?\"”’')]"
"""The end of a whole sentence."""
_CLAUSES = re.compile(r"(.{20,})[,;:]\s", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters but newline and tab; and lone surrogates, which no file can store."""


def is_end(text: str) -> bool:
    """Whether a text begins with the end token; text behind it is ignored."""
    return bool(_END.match(text))


def clean(text: str) -> str:
    """The text without control characters, other than newline and tab, and with tags defused.

    A reply becomes part of later prompts, so it is trusted there no more than a passage.
    """
    return defuse(_CONTROL.sub("", text))


def said(text: str) -> str:
    """The reply without what a model thought aloud before it, cleaned.

    Some servers put the opening tag into the prompt, so that only the closing one is in the reply.
    """
    _, closed, spoken = text.partition("</think>")
    return clean(spoken.lstrip() if closed else text)


def is_filtered(message: BaseMessage) -> bool:
    """Whether the provider's content filter withheld the reply, or the rest of it."""
    return not message.text and _end_reason(message) in ("content_filter", "refusal", "safety")


def is_cut(message: BaseMessage) -> bool:
    """Whether the limit of tokens ended the reply."""
    return _end_reason(message) in ("length", "max_tokens")


def whole(text: str) -> str:
    """A text that was cut off, up to its last whole sentence; if it has none, its last clause."""
    spans = split(text)
    if not spans or text[spans[-1].end - 1] in _CLOSED:
        return text
    if before := text[: spans[-1].start].rstrip():
        return before
    clauses = _CLAUSES.match(text)
    return f"{clauses[1]}." if clauses else text


def thought_only(message: BaseMessage) -> bool:
    """Whether a reply was cut before the model had ended its thoughts.

    They stand in the text, or the server has taken them out and nothing is left.
    """
    if "</think>" in message.text:
        return False
    cut = not message.text and is_cut(message)
    return cut or message.text.lstrip().startswith("<think>")


def first_object(text: str) -> dict[str, Any] | None:
    """The first JSON object in the text, with any text around it.

    A truncated object does not count, even if it contains a whole one.
    """
    for candidate in _outermost_objects(text):
        try:
            value = json.loads(candidate, strict=False)  # small models write raw newlines
            cleaned = _clean(value)
        except (ValueError, RecursionError):  # the latter of thousands of brackets
            continue
        if isinstance(cleaned, dict):
            return cleaned
    return None


def scored_tokens(message: BaseMessage) -> Sequence[Any]:
    """The tokens of a reply with their probabilities, as OpenAI gives them; empty without."""
    logprobs = message.response_metadata.get("logprobs")
    return (logprobs.get("content") if isinstance(logprobs, Mapping) else None) or ()


def option_probabilities(token: Any, options: Sequence[str]) -> dict[str, float] | None:
    """The probability of each option in the place of a scored token; they add up to 1.

    None where no option is among the likely tokens.
    """
    folded = {option.strip().casefold(): option for option in options}
    found = dict.fromkeys(options, 0.0)
    for likely in token.get("top_logprobs") or [token]:
        option = folded.get(str(likely["token"]).strip().casefold())
        if option is not None and likely["logprob"] is not None:
            found[option] += math.exp(likely["logprob"])
    total = sum(found.values())
    return {option: value / total for option, value in found.items()} if total > 0 else None


def read_option(text: str, options: Sequence[str]) -> str | None:
    """The option that the text begins with, as a word of its own."""
    said = text.strip().lstrip("\"'*(").casefold()
    for option in sorted(options, key=len, reverse=True):
        wanted = option.strip().casefold()
        rest = said[len(wanted) :]
        if said.startswith(wanted) and not rest[:1].isalnum():
            return option
    return None


def short(text: str) -> str:
    """The beginning of a reply, quoted, on one line."""
    line = " ".join(text.split())
    return repr(line if len(line) <= 120 else line[:119] + "…")


def usage(message: BaseMessage) -> Usage:
    """The cost of one call; figures that the provider does not tell count as zero."""
    told = getattr(message, "usage_metadata", None) or {}
    # OpenAI's service tiers put their name in front: flex_cache_read.
    details = told.get("input_token_details") or {}
    return Usage(
        llm_calls=1,
        prompt_tokens=told.get("input_tokens") or 0,
        cached_tokens=sum(v or 0 for k, v in details.items() if k.endswith("cache_read")),
        completion_tokens=told.get("output_tokens") or 0,
    )


def _end_reason(message: BaseMessage) -> str:
    """The reason that the provider gives for the end of the reply, in small letters."""
    told = message.response_metadata
    return str(told.get("finish_reason") or told.get("stop_reason")).lower()


def _outermost_objects(text: str) -> Iterator[str]:
    """Each outermost {...}, brackets inside strings aside."""
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
