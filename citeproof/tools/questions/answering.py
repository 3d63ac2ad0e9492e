"""Which texts and which claims answer a question, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from citeproof.errors import BudgetExceededError, VerifierOutageError
from citeproof.text import join_ended
from citeproof.tools.citations.marks import content, quotation, quote
from citeproof.tools.citations.quotes import heading_above, quotes_in
from citeproof.tools.entailment import Entailment, Pair, halfway, premise, question_hypothesis
from citeproof.tools.entailment.details import missing_details
from citeproof.tools.questions.kinds import lacks_asked_kind
from citeproof.tools.questions.parts import asks_yes_or_no, name_topic, question_parts
from citeproof.types import Claim, Passage, QuotedPassage

UNCHECKED = (BudgetExceededError, VerifierOutageError)
"""What a model may raise that decides whether texts answer; an answer is composed without it."""
_SETTLES = 0.5
"""A claim with this share of a yes-or-no question's content words settles the question. To the
model, "The tenants pay for gas." does not answer "Is gas included in the rent?" (0.49). With its
title the claim must have all names and numbers of the question: a bus from Tolm to Ardal is no bus
from Stenby."""
_OFF_TOPIC = 0.05
"""A passage that scores less for a question is about something else, whatever a claim makes of it:
"To test a backup without putting files on your disk, delete some files" was proved by a passage on
full disks, and answered the question. Of 200 passages that do answer one, five score less."""
_ASKER = content("I me my mine myself we us our ours you your yours anybody anyone somebody there")
"""Words of a question that its answer need not repeat."""


class Answered(NamedTuple):
    """What the claims of an answer are to each part of the question."""

    proved: list[bool]
    """Whether proved claims answer it."""
    failed: list[bool]
    """Whether a claim that could not be proved answers it."""
    likely: list[bool]
    """Whether a proved claim answers it or comes close."""


async def score_answers(
    answerability: Entailment, parts: Sequence[str], texts: Sequence[str]
) -> list[list[float]]:
    """Return, for each part, the probability that each text answers it; one batch."""
    pairs = pair_answers(parts, texts)
    scores = iter(await answerability.scores(pairs) if pairs else [])
    return [[next(scores) for _ in texts] for _ in parts]


def pair_answers(parts: Sequence[str], texts: Sequence[str]) -> list[Pair]:
    """Return the pairs that ask whether a text answers a part, for each part all texts."""
    asked = map(question_hypothesis, name_topic(parts))
    return [Pair(text, hypothesis) for hypothesis in asked for text in texts]


async def find_answered(
    answerability: Entailment,
    parts: Sequence[str],
    claims: Sequence[Claim],
    passages: Mapping[str, Passage],
) -> Answered:
    """Find which parts of a question the claims answer.

    A part may be answered by one claim, or by all proved claims together, if what they cite is not
    about something else. It may also be answered
    by the sentence that proves a claim, or surely by both together, if the claim comes close: asked
    who was appointed in 1950, a writer leaves the year out. (Of twelve answers whose claims were
    judged to miss the question, the sentence accepts two, and both do answer it.) A part that asks
    how many or when needs a number or a time, in a claim that comes close to it. A proved claim
    that comes close may answer: of five proved answers that VTG had reported as not found, four
    come close, and three of these do answer.

    Args:
        answerability: Scores a text and a question.
        parts: The parts of the question.
        claims: The claims, with their verdicts.
        passages: Passage id → passage. Its title, and the heading above the cited sentence, are put
            before the claim: "The story takes place at a school" answers a question about the book.

    Raises:
        VerifierOutageError: The model does not answer.
    """

    def text(some: Sequence[Claim], said: str) -> str:
        cited = [(passages[c.passage_id], c.sentence) for claim in some for c in claim.citations]
        titles = dict.fromkeys(f"Title: {one.title}" for one, _ in cited if one.title)
        headings = dict.fromkeys(filter(None, (heading_above(*one) for one in cited)))
        return "\n".join([*titles, *headings, said])

    proved = [claim for claim in claims if not claim.verdict.failed]
    told = [text([claim], claim.text) for claim in proved]
    failed = [text([claim], claim.text) for claim in claims if claim.verdict.failed]
    # Four items behind "Things to be backed up:" answer what to back up with 0.67, and with 0.14 if
    # they run together.
    together = join_ended((claim.text for claim in proved), ";")
    whole = [text(proved, together)] if len(proved) > 1 else []
    titled = list(zip(proved, told, strict=True))
    quoted = [
        (alone, text([claim], one.sentence), text([claim], f"{one.sentence}\n{claim.text}"))
        for claim, alone in titled
        for one in claim.citations
    ]
    read = [premise([passages[c.passage_id] for c in claim.citations]) for claim in proved]
    more = (one for _, *both in quoted for one in both)
    texts = list(dict.fromkeys([*told, *failed, *whole, *filter(None, read), *more]))
    found = Answered([], [], [])
    limit = answerability.threshold
    for part, row in zip(parts, await score_answers(answerability, parts, texts), strict=True):
        scores = dict(zip(texts, row, strict=True))
        near = [one for one in quoted if scores[one[0]] >= limit / 2]
        about = [claim for claim, alone in titled if scores[alone] >= limit / 2] or proved
        cited = zip(told, read, strict=True)
        off_topic = {one for one, source in cited if source and scores[source] < _OFF_TOPIC}
        own = [one for one in told if one not in off_topic]
        own += whole if own else []
        fits = not lacks_asked_kind(" ".join(map(_stated, about)), part)
        found.proved.append(
            fits
            and (
                any(scores[one] >= limit for one in own)
                or any(scores[said] >= limit for _, said, _ in near)
                or any(scores[b] >= halfway(limit) for one, _, b in near if one not in off_topic)
                or any(_settles(claim.text, alone, part) for claim, alone in titled)
            )
        )
        found.failed.append(any(scores[one] >= limit for one in failed))
        close = any(scores[one] >= limit / 2 for one in [*told, *whole])
        found.likely.append(fits and close)
    return found


def _stated(claim: Claim) -> str:
    return " ".join([claim.text, *(citation.sentence for citation in claim.citations)])


async def quote_nearest(
    answerability: Entailment | None, question: str, passages: Sequence[Passage]
) -> tuple[QuotedPassage, ...]:
    """Quote the sentence of each passage that answers likeliest.

    One that has the number or time that the question asks for goes first. "The snapshots are kept
    for around 20 days" answers how long tarballs are kept with 0.23: too little for an answer, but
    more than all other sentences. Without a model, it is the sentence that shares the most content
    with the question.

    Raises:
        VerifierOutageError: The model does not answer.
    """
    if answerability is None:
        return tuple(QuotedPassage(passage=one, **quote(one, question)) for one in passages)
    quotes = [one for passage in passages for one in quotes_in(passage) if one.says_something]
    texts = [one.premise for one in quotes]
    rows = await score_answers(answerability, question_parts(question), texts)
    scored = zip(quotes, map(max, zip(*rows, strict=True)), strict=True)
    ranked = sorted(scored, key=lambda own: (lacks_asked_kind(own[0].text, question), -own[1]))
    said = {one.id: quote(one, question) for one in passages}
    for one, _ in reversed(ranked):
        said[one.passage.id] = quotation(one.passage, one.start, one.end)
    return tuple(QuotedPassage(passage=one, **said[one.id]) for one in passages)


def _settles(claim: str, titled: str, question: str) -> bool:
    asked = question.partition(" ")[2]  # without "Can" or the like
    wanted = content(asked) - _ASKER
    if not asks_yes_or_no(question) or not wanted or missing_details(titled, asked):
        return False
    return len(wanted & content(claim)) >= _SETTLES * len(wanted)
