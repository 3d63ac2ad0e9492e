"""Puts the verdicts of a check into a LangChain message, as standard annotations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.content import Annotation, NonStandardAnnotation

from citeproof.tools.checking.locations import locate
from citeproof.tools.citations.answer_message import annotate_passage
from citeproof.tools.sentences import Span
from citeproof.types import CheckedSentence, CheckReport


def annotate(message: AIMessage, report: CheckReport) -> AIMessage:
    """Return the message with the verdict on each checked sentence.

    A supported sentence gets a LangChain `Citation` for each passage that supports it. The citation
    holds the sentence's place in its text block, what the source says, and under `extras` the
    `verdict`, the `score` and the passage. Any other sentence gets an annotation of the type
    `non_standard_annotation`, so that no reader takes it for cited. Its `value` holds place,
    `verdict` and `score`, and under `against` the passages that contradict the sentence.

    The message's content becomes standard content blocks; its id stays.
    """
    spans = locate(message.text, [sentence.text for sentence in report.sentences])
    found = [
        (span, sentence)
        for span, sentence in zip(spans, report.sentences, strict=True)
        if span is not None and sentence.verdict != "unchecked"
    ]
    blocks: list[dict[str, Any]] = []
    place = 0
    for block in message.content_blocks:
        own: dict[str, Any] = dict(block)
        if own["type"] == "text":
            end = place + len(own["text"])
            inside = [one for one in found if place <= one[0].start < end]
            added = [note for span, one in inside for note in _annotations(span, one, place, end)]
            own["annotations"] = [*own.get("annotations", ()), *added]
            place = end
        blocks.append(own)
    data = {**message.response_metadata, "output_version": "v1"}
    return message.model_copy(update={"content": blocks, "response_metadata": data})


def _annotations(
    span: Span, sentence: CheckedSentence, place: int, end: int
) -> Iterator[Annotation]:
    """Yield the annotations of one sentence; indices count from the start of its block."""
    start, stop = span.start - place, min(span.end, end) - place
    verdict: dict[str, Any] = {"verdict": sentence.verdict, "score": sentence.score}
    for support in sentence.support:
        yield annotate_passage(support.passage, support.sentence, (start, stop), **verdict)
    if not sentence.support:
        value = {"start_index": start, "end_index": stop, **verdict}
        if sentence.against:
            value["against"] = [
                {
                    "title": support.passage.place,
                    "cited_text": support.sentence or support.passage.text,
                    "source": support.passage.source,
                    "passage_id": support.passage.id,
                }
                for support in sentence.against
            ]
        yield NonStandardAnnotation(type="non_standard_annotation", value=value)
