"""OpenAI's shapes: models, completions, chunks, and citations as annotations."""

from __future__ import annotations

import time
from typing import Any

from citeproof.tools.checking.locations import locate
from citeproof.tools.citations.answer_message import claim_places
from citeproof.tools.sentences import Span
from citeproof.types import Answer, CheckReport, Passage, Usage


def model(name: str, about: str) -> dict[str, Any]:
    """Make an entry of the list of models."""
    return {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "citeproof",
        "description": about,
    }


def completion(name: str, key: str, message: dict[str, Any], used: Usage) -> dict[str, Any]:
    """Make a whole reply."""
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    head = _head(name, key, "chat.completion")
    return {**head, "choices": [choice], "usage": usage(used)}


def chunk(name: str, key: str, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """Make a piece of a streamed reply."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return {**_head(name, key, "chat.completion.chunk"), "choices": [choice]}


def usage(used: Usage) -> dict[str, Any]:
    """Count the tokens of all calls behind a reply."""
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.prompt_tokens + used.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": used.cached_tokens},
    }


def annotate_answer(answer: Answer, offset: int = 0) -> list[dict[str, Any]]:
    """Annotate an answer with its citations, each spanning its claim.

    `offset` is where the answer's text begins in the reply.
    """
    return [
        _annotation(
            answer.passages[citation.number - 1],
            citation.sentence,
            claim.verdict.status,
            Span(offset + start, offset + end),
            claim.verdict.score,
            citation.number,
        )
        for claim, start, end in claim_places(answer)
        for citation in claim.citations
    ]


def annotate_check(text: str, report: CheckReport) -> list[dict[str, Any]]:
    """Annotate a checked text with the passages that support or contradict its sentences."""
    spans = locate(text, [sentence.text for sentence in report.sentences])
    return [
        _annotation(own.passage, own.sentence, sentence.verdict, span, sentence.score, own.number)
        for sentence, span in zip(report.sentences, spans, strict=True)
        if span is not None
        for own in (*sentence.support, *sentence.against)
    ]


def _annotation(
    passage: Passage,
    sentence: str,
    verdict: str,
    span: Span,
    score: float | None,
    number: int | None,
) -> dict[str, Any]:
    cited = {
        "url": passage.source,
        "title": passage.place,
        "start_index": span.start,
        "end_index": span.end,
    }
    own = {"verdict": verdict, "score": score, "sentence": sentence, "number": number}
    return {"type": "url_citation", "url_citation": cited, "citeproof": own}


def _head(name: str, key: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{key}", "object": kind, "created": int(time.time()), "model": name}


def unsent_text(sent: str, answer: Answer) -> tuple[str, int]:
    """Return the unsent part of an answer, and where the answer's text begins in the reply.

    If the final answer differs from what was sent, all of it is sent again after a blank line.
    """
    if answer.text.startswith(sent):
        return answer.text[len(sent) :], 0
    return f"\n\n{answer.text}", len(sent) + 2
