"""Which texts and which claims answer a question, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from citeproof.tools.citations.marks import content
from citeproof.tools.entailment import Entailment, Pair, question_hypothesis
from citeproof.tools.questions.parts import asks_yes_or_no, name_topic
from citeproof.types import Claim

_SETTLES = 0.5
"""Share of a question's content words with which a claim settles a question for yes or no. The
model takes "Subletting is forbidden." for no answer to "Is subletting allowed?" (0.05): of 16 such
claims on short documents it finds 8, this share all but two."""


async def score_answers(
    answerability: Entailment, parts: Sequence[str], texts: Sequence[str]
) -> list[list[float]]:
    """For each part the probability of each text, in order, that it answers it; one batch."""
    asked = map(question_hypothesis, name_topic(parts))
    pairs = [Pair(text, hypothesis) for hypothesis in asked for text in texts]
    scores = iter(await answerability.scores(pairs) if pairs else [])
    return [[next(scores) for _ in texts] for _ in parts]


async def find_answered(
    answerability: Entailment,
    parts: Sequence[str],
    claims: Sequence[Claim],
    titles: Mapping[str, str],
) -> tuple[list[bool], list[bool]]:
    """For each part of a question whether a proved claim answers it, and whether a failed one does.

    A part may be answered by a claim, or by all that are proved together. It may also be answered
    by the sentence that proves a claim, where the claim comes near: asked who was appointed in
    1950, a writer leaves the year out. (Of twelve answers whose claims were found beside the
    question, this rule takes back two, both of which do answer.)

    Args:
        answerability: Scores a text and a question.
        parts: Of the question.
        claims: Each with its verdict.
        titles: Passage id → title. Titles stand before what cites them: "The story takes place at a
            school" answers a question about the book.

    Raises:
        VerifierOutageError: The model does not answer.
    """

    def text(some: Sequence[Claim], said: str) -> str:
        cited = dict.fromkeys(titles[c.passage_id] for claim in some for c in claim.citations)
        return "\n".join([*(f"Title: {title}" for title in cited if title), said])

    proved = [claim for claim in claims if not claim.verdict.failed]
    failed = [claim for claim in claims if claim.verdict.failed]
    whole = [text(proved, " ".join(claim.text for claim in proved))] if len(proved) > 1 else []
    quoted = [
        (text([claim], claim.text), text([claim], citation.sentence))
        for claim in proved
        for citation in claim.citations
    ]
    alone = [text([claim], claim.text) for claim in (*proved, *failed)]
    texts = list(dict.fromkeys([*alone, *whole, *(said for _, said in quoted)]))
    won, lost = list[bool](), list[bool]()
    limit = answerability.threshold
    for part, row in zip(parts, await score_answers(answerability, parts, texts), strict=True):
        scores = dict(zip(texts, row, strict=True))
        own = [*alone[: len(proved)], *whole]
        near = (said for claim, said in quoted if scores[claim] >= limit / 2)
        won.append(
            any(scores[one] >= limit for one in own)
            or any(scores[said] >= limit for said in near)
            or any(_settles(claim.text, part) for claim in proved)
        )
        lost.append(any(scores[one] >= limit for one in alone[len(proved) :]))
    return won, lost


def _settles(claim: str, question: str) -> bool:
    wanted = content(question)
    shared = len(wanted & content(claim))
    return asks_yes_or_no(question) and bool(wanted) and shared >= _SETTLES * len(wanted)
