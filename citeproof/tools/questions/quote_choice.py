"""Chooses between sentences that seem to answer a question equally well."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citeproof.tools.citations.marks import content
from citeproof.tools.citations.quotes import Quote
from citeproof.tools.entailment import Entailment, halfway
from citeproof.tools.entailment.base import blend_odds
from citeproof.tools.entailment.details import missing_details
from citeproof.tools.entailment.spans import KINDS, find_spans
from citeproof.tools.questions.answering import score_answers
from citeproof.tools.questions.kinds import tells_count
from citeproof.tools.questions.parts import asks_yes_or_no
from citeproof.tools.sentences import split
from citeproof.types import Passage

AS_SURE = 0.03
"""Most that a sentence's score may lie below the best one's to answer as surely."""
_FAR = 0.5
"""Below this share of the threshold, a sentence misses the question by far."""
_SAYS_SO = re.compile(r"(?:yes|no)\b(?! one\b)", re.IGNORECASE)


async def choose_quote(
    answerability: Entailment,
    question: str,
    parts: Sequence[str],
    fit: Sequence[tuple[int, Quote]],
) -> Quote | None:
    """Return the quote that answers best, of those that surely answer below their headings.

    Quotes that have all names of the question go first, then those that count what it counts, then
    single sentences, then the passage that was found first.

    Below a heading that asks the question, every sentence seems to answer: "There are also console
    templates" answers "Can I create dashboards?" (0.99). So the sentences are read again without
    headings, unless one begins with "yes" or "no". The first of those that answer about as surely
    is chosen. A sentence that misses the question by far, below a heading that answers by itself,
    is left out; the result is None if no other is left.
    """
    places = [
        (
            bool(missing_details(quote.premise, question)),
            not tells_count(quote.text, question),
            len(split(quote.text)) > 1,
            number,
        )
        for number, quote in fit
    ]
    first = min(places)
    own = [quote for place, (_, quote) in zip(places, fit, strict=True) if place == first]
    if asks_yes_or_no(question) and (told := [one for one in own if _SAYS_SO.match(one.text)]):
        return told[0]
    limit = answerability.threshold
    scored = [
        (quote, alone)
        for quote, alone, heading in await _score_apart(answerability, parts, own)
        if alone >= _FAR * limit or heading < halfway(limit)
    ]
    surest = max((alone for _, alone in scored), default=0.0)
    least = surest - AS_SURE if surest >= limit else 0.0
    return next((quote for quote, alone in scored if alone >= least), None)


async def _score_apart(
    answerability: Entailment, parts: Sequence[str], quotes: Sequence[Quote]
) -> list[tuple[Quote, float, float]]:
    """Return how surely quotes answer without their headings, and the headings without them.

    The first score is the mean, in log-odds, of the quote by itself and below its document's title.
    """
    own = [one.text for one in quotes]
    titled = [_premise(one, title=document_title(one.passage), text=one.text) for one in quotes]
    headings = [_premise(one, text=one.heading) for one in quotes]
    by_part = await score_answers(answerability, parts, [*own, *titled, *headings])
    score = dict(zip([*own, *titled, *headings], map(min, zip(*by_part, strict=True)), strict=True))
    return [
        (quote, blend_odds((score[text], score[below]), (0.5, 0.5)), score[heading])
        for quote, text, below, heading in zip(quotes, own, titled, headings, strict=True)
    ]


def _premise(quote: Quote, **changed: str) -> str:
    return quote.passage.model_copy(update=changed).premise


def are_rivals(one: Quote, other: Quote, question: str) -> bool:
    """Whether two quotes from two documents differ, and share no name or number of their own.

    A quote that lacks a name of the question is about another thing: Pellow Rock Lighthouse is no
    rival to Pellow Head Lighthouse.
    """
    lacking = [missing_details(quote.premise, question) for quote in (one, other)]
    if _origin(one.passage) == _origin(other.passage) or (lacking[0] and not lacking[1]):
        return False
    said, known = content(one.text) - content(question), content(other.text) - content(question)
    differ = not (said <= known or known <= said)
    return differ and not _details(one.text, question) & _details(other.text, question)


def _details(text: str, question: str) -> set[str]:
    asked = question.lower()
    found = (span.lower() for kind in KINDS for span in find_spans(text, kind))
    return {span for span in found if span not in asked}


def _origin(passage: Passage) -> tuple[str, str]:
    """What tells a passage's document from others; a passage of unknown origin is one by itself."""
    title = document_title(passage)  # two files may have the same one, or none
    return (title, passage.source) if title or passage.source else ("", passage.id)


def document_title(passage: Passage) -> str:
    """The title of a passage's document, without those of its sections."""
    return passage.title.partition(" – ")[0]
