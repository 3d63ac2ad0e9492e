"""Names that are taken from claims: whether the claims say them, and what proves them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citeproof.tools.citations.marks import content
from citeproof.tools.entailment.numbers import NUMBER_VALUES
from citeproof.tools.questions.parts import asks_yes_or_no
from citeproof.tools.sentences import words
from citeproof.types import Claim

_YES_OR_NO = content("yes no")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_LETTERS = re.compile(r"[A-Za-z]+")


def is_said(name: Claim, question: str, claims: Sequence[Claim]) -> bool:
    """Whether the claims that a name cites, else all, say it; the question may say some words.

    Endings and the form of numbers do not count: 3 is "three", and 1,000 is 1000. "Yes" and "no"
    answer a question for yes or no. A name that only the question has is no answer.
    """
    said = _words(" ".join(claim.text for claim in _cited(name, claims)))
    if asks_yes_or_no(question):
        said |= _YES_OR_NO
    own = content(_in_figures(name.text)) or _words(name.text)  # "you" has no content word
    return bool(own & said) and own <= said | _words(question)


def citing_claims(name: Claim, claims: Sequence[Claim]) -> Claim:
    """Return a name with citations and worst verdict of the claims that it cites, else of all."""
    rests = _cited(name, claims)
    citations = {c.passage_id: c for claim in rests for c in claim.citations}
    against = {c.passage_id: c for claim in rests for c in claim.against}
    weakest = min((claim.verdict for claim in rests), key=lambda v: (not v.failed, v.score or 0.0))
    said = " ".join(claim.text for claim in rests)
    reason = weakest.reason or f"taken from: {said}"
    return Claim(
        text=name.text,
        citations=tuple(sorted(citations.values(), key=lambda c: c.number)),
        verdict=weakest.model_copy(update={"reason": reason}),
        against=tuple(against.values()),
    )


def _cited(name: Claim, claims: Sequence[Claim]) -> Sequence[Claim]:
    """The claims that a name cites by their places from 1, else all."""
    return [claims[citation.number - 1] for citation in name.citations] or claims


def _words(text: str) -> set[str]:
    """The content words of a text by their stems, and all its words."""
    text = _in_figures(text)
    return content(text) | set(words(text.casefold()))


def _in_figures(text: str) -> str:
    """The text with its numbers in figures, without separators of thousands."""
    return _LETTERS.sub(
        lambda word: NUMBER_VALUES.get(word[0].lower(), word[0]), _THOUSANDS.sub("", text)
    )
