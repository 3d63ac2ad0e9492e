"""An answer as a LangChain message, with its citations as standard annotations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.content import (
    Annotation,
    Citation,
    create_citation,
    create_text_block,
)

from citeproof.tools.citations.marks import marks
from citeproof.types import Answer, Claim, Passage, shown_score

__all__ = ["annotate_passage", "answer_message", "claim_places"]


def answer_message(answer: Answer) -> AIMessage:
    """Return the answer as the reply to its question.

    The content is one text block with the answer, or with the reason if there is no claim. Its
    `annotations` are LangChain citations, one for each passage that a claim cites, in order.
    `start_index` and `end_index` delimit the claim in the text, including its marks. `cited_text`
    is the sentence that proves it. `extras` holds the `passage_id`, its `number` and `source`, and
    the claim's `verdict` and `score`. `response_metadata` holds `question`, `method`, `status` and
    `reason`.

    >>> answer_message(Answer(question="Who?", method="vtg", status="not_found")).text
    'No answer was found.'
    """
    text = answer.text or answer.reason or "No answer was found."
    annotations: list[Annotation] = []
    if answer.text:
        for claim, start, end in claim_places(answer):
            score = claim.verdict.score
            extras = {
                "verdict": claim.verdict.status,
                "score": None if score is None else float(shown_score(score)),
            }
            annotations += [
                annotate_passage(
                    answer.passages[own.number - 1],
                    own.sentence,
                    (start, end),
                    number=own.number,
                    **extras,
                )
                for own in claim.citations
            ]
    metadata = {name: getattr(answer, name) for name in ("question", "method", "status", "reason")}
    return AIMessage(
        content_blocks=[create_text_block(text, annotations=annotations)],
        response_metadata=metadata,
    )


def claim_places(answer: Answer) -> Iterator[tuple[Claim, int, int]]:
    """Yield each claim with its start and end in the text; claims of a list may have moved."""
    cursor = 0
    for claim in answer.claims:
        numbers = "".join(f"[{citation.number}]" for citation in claim.citations)
        shapes = (marks(claim), f"{claim.text} {numbers}", claim.text)
        for shape, begin in product(shapes, (cursor, 0)):
            if (start := answer.text.find(shape, begin)) >= 0:
                break
        else:
            continue
        cursor = start + len(shape)
        yield claim, start, cursor


def annotate_passage(
    passage: Passage, sentence: str, place: tuple[int, int], **extras: Any
) -> Citation:
    """Return LangChain's citation of a passage, with further fields.

    It cites the sentence that proves the claim; if that is empty, the whole passage. The place is
    the claim's start and end in the message's text.
    """
    return create_citation(
        url=passage.source if "://" in passage.source else None,
        title=passage.place,
        start_index=place[0],
        end_index=place[1],
        cited_text=sentence or passage.text,
        passage_id=passage.id,
        source=passage.source or None,
        **extras,
    )
