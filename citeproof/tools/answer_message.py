"""An answer as a message of LangChain's, with its citations as standard annotations."""

from __future__ import annotations

from collections.abc import Iterator

from langchain_core.messages import AIMessage
from langchain_core.messages.content import Annotation, create_citation, create_text_block

from citeproof.tools.citations import marks
from citeproof.types import Answer, Citation, Claim, shown_score

__all__ = ["answer_message"]


def answer_message(answer: Answer) -> AIMessage:
    """The answer as the reply to its question.

    The content is one block of text: that of the answer, or where no claim was made, why. Its
    `annotations` are LangChain's citations, one for each passage that a claim cites, in order.
    `start_index` and `end_index` say where the claim stands in the text, with its marks;
    `cited_text` is the sentence that proves it; `extras` has the `passage_id`, its `number` and
    `source`, and the `verdict` and `score` of the claim. `response_metadata` has `question`,
    `method`, `status` and `reason`.

    >>> answer_message(Answer(question="Who?", method="vtg", status="not_found")).text
    'No answer was found.'
    """
    text = answer.text or answer.reason or "No answer was found."
    annotations: list[Annotation] = []
    if answer.text:
        for claim, start, end in _placed(answer):
            annotations += [_annotation(answer, claim, own, start, end) for own in claim.citations]
    metadata = {name: getattr(answer, name) for name in ("question", "method", "status", "reason")}
    return AIMessage(
        content_blocks=[create_text_block(text, annotations=annotations)],
        response_metadata=metadata,
    )


def _placed(answer: Answer) -> Iterator[tuple[Claim, int, int]]:
    """Each claim with where it begins and ends in the text; claims of a list may have moved."""
    cursor = 0
    for claim in answer.claims:
        numbers = "".join(f"[{citation.number}]" for citation in claim.citations)
        for shape in (marks(claim), f"{claim.text} {numbers}", claim.text):
            if (start := answer.text.find(shape, cursor)) >= 0:
                break
            if (start := answer.text.find(shape)) >= 0:
                break
        else:
            continue
        cursor = start + len(shape)
        yield claim, start, cursor


def _annotation(answer: Answer, claim: Claim, cited: Citation, start: int, end: int) -> Annotation:
    passage = answer.passages[cited.number - 1]
    score = claim.verdict.score
    return create_citation(
        url=passage.source if "://" in passage.source else None,
        title=passage.place,
        start_index=start,
        end_index=end,
        cited_text=cited.sentence or passage.text,
        passage_id=passage.id,
        number=cited.number,
        source=passage.source or None,
        verdict=claim.verdict.status,
        score=None if score is None else float(shown_score(score)),
    )
