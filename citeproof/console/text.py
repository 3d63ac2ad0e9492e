"""Answers and what they cost, in words."""

from __future__ import annotations

from citeproof.text import count, seconds
from citeproof.tools.citations.marks import supporting_sentence
from citeproof.types import Answer, Usage


def describe_tokens(usage: Usage) -> str:
    """Tokens of a usage, and how many of the prompt's a cache spared; empty where none."""
    total = usage.prompt_tokens + usage.completion_tokens
    if not total:
        return ""
    share = usage.cached_tokens / usage.prompt_tokens if usage.prompt_tokens else 0.0
    return count(total, "token") + (f" ({share:.0%} of the prompt cached)" if share else "")


def describe_call(usage: Usage) -> str:
    """The cost of a call of the language model: its tokens and its time, where they are known."""
    took = seconds(usage.seconds) if usage.seconds else ""
    return " · ".join(part for part in (describe_tokens(usage), took) if part)


def describe_proved(answer: Answer) -> str:
    """How much of an answer is proved: `2 of 3 claims proved`."""
    supported = sum(claim.verdict.status == "supported" for claim in answer.claims)
    return f"{supported} of {count(len(answer.claims), 'claim')} proved"


def describe_usage(usage: Usage) -> list[str]:
    """The cost of a run, part by part, without the parts that it did not use."""
    parts = [
        count(usage.llm_calls, "LLM call") if usage.llm_calls else "",
        describe_tokens(usage),
        count(usage.nli_pairs, "NLI pair") if usage.nli_pairs else "",
        count(usage.retrievals, "retrieval") if usage.retrievals else "",
        seconds(usage.seconds),
    ]
    return [part for part in parts if part]


def nearest_sentences(answer: Answer) -> list[str]:
    """Of each passage that came nearest, the sentence nearest to the question; empty if none is."""
    asked = answer.asked or answer.question
    return [supporting_sentence(passage, asked) for passage in answer.nearest]
