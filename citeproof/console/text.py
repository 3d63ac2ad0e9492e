"""Describes answers and their cost in words, and quotes what they cite."""

from __future__ import annotations

from citeproof.text import count, plain, seconds
from citeproof.types import Answer, Usage


def describe_tokens(usage: Usage) -> str:
    """Describe the tokens used and the cached share of the prompt; "" if there are none."""
    total = usage.prompt_tokens + usage.completion_tokens
    if not total:
        return ""
    share = usage.cached_tokens / usage.prompt_tokens if usage.prompt_tokens else 0.0
    return count(total, "token") + (f" ({share:.0%} of the prompt cached)" if share else "")


def describe_call(usage: Usage) -> str:
    """Describe the cost of a language model call: its tokens and its time, if known."""
    took = seconds(usage.seconds) if usage.seconds else ""
    return " · ".join(filter(None, (describe_tokens(usage), took)))


def describe_proved(answer: Answer) -> str:
    """Say how much of an answer is proved: `2 of 3 claims proved`."""
    supported = sum(claim.verdict.status == "supported" for claim in answer.claims)
    return f"{supported} of {count(len(answer.claims), 'claim')} proved"


def cited_sentences(answer: Answer, passage_id: str) -> list[str]:
    """Return the sentences of a passage that claims cite, each once and on one line."""
    found = (
        plain(citation.sentence)
        for claim in answer.claims
        for citation in claim.citations
        if citation.passage_id == passage_id
    )
    return [sentence for sentence in dict.fromkeys(found) if sentence]


def describe_usage(usage: Usage) -> list[str]:
    """Describe the cost of a run part by part, leaving out parts that it did not use."""
    parts = [
        count(usage.llm_calls, "LLM call") if usage.llm_calls else "",
        describe_tokens(usage),
        count(usage.nli_pairs, "NLI pair") if usage.nli_pairs else "",
        count(usage.retrievals, "retrieval") if usage.retrievals else "",
        seconds(usage.seconds),
    ]
    return [part for part in parts if part]
