"""The parts of a question: "Who founded Debian, and when?" asks two things."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citeproof.tools.sentences import split

_WH = r"(?:who|whom|whose|what|which|when|where|why|how)"
_BEFORE = r"(?:(?:in|on|at|by|for|to|of|from|with|under|since|until)\s+)?"
_AND = re.compile(
    rf"[,;]?\s+(?:and|or)\s+(?={_BEFORE}{_WH}\b)|,\s+(?={_BEFORE}{_WH}(?:,|\s+(?:and|or)\b))"
    r"|\?\s+(?=\S)",
    re.I,
)
_ASKS = re.compile(rf"^{_BEFORE}{_WH}\b(?P<rest>.*)$", re.I)
_PRONOUN = re.compile(
    r"\b(?:he|him|his|she|hers?|it|its|they|them|theirs?|this|that|these)\b", re.I
)
_AUXILIARY = (
    "(?:am|is|are|was|were|do|does|did|has|have|had|can|could|will|would|may|must|should|shall)"
)
_BEGINS = re.compile(rf"^\s*(?:\w+\s+)?{_AUXILIARY}\b", re.I)
"""Matches what stands before the topic, such as "long is" in "How long is a cycle?"."""
_YES_OR_NO = re.compile(rf"^\W*{_AUXILIARY}(?:n['’]t)?\s+(?!.*,?\s+or\b)", re.I)
_CONDITION = re.compile(
    rf"^\s*(?:if|when|while|after|before|once|since|because|as|although)\s+(?!{_AUXILIARY}\b)"
    rf"[^?]*?,\s+(?=(?:{_BEFORE}{_WH}|{_AUXILIARY})\b)",
    re.I,
)
"""Matches a clause in front of a question, such as "If I am ill,"."""
_ONLY_ASKS = re.compile(rf"{_BEFORE}{_WH}(?:\s+(?:many|much|long|often|far|year|date))?", re.I)
"""Matches a part that does not say on its own what it asks."""
_SAYS_LITTLE = re.compile(
    rf"(?:(?:{_WH}|{_AUXILIARY}|I|me|my|we|us|our|you|your|one|a|an|the|much|many|long|often)\b\W*)*"
    r"(?:(?-i:[^\W\dA-Z])\w*\W*)?",
    re.I,
)
"""Matches a part with one word, and no name, besides those of many questions."""
_FROM_VERB = re.compile(rf"(?:\S+\s+){{0,2}}?({_AUXILIARY}\b.*)", re.I)


def strip_preamble(question: str) -> str:
    """Return a question without the statements and the condition in front of it; English only.

    Of 32 questions on a book, eight begin with one.

    >>> strip_preamble("I pay by card. If I cancel, do I get it back?")
    'do I get it back?'
    """
    spans = split(question)
    begins = (span.start for span in spans if question[: span.end].endswith("?"))
    return _CONDITION.sub("", question[next(begins, 0) :])


def asks_yes_or_no(question: str) -> bool:
    """Whether a question can be answered by yes or no; English only.

    >>> asks_yes_or_no("Is gas included in the rent?"), asks_yes_or_no("Is it red or blue?")
    (True, False)
    """
    return bool(_YES_OR_NO.match(strip_preamble(question)))


def question_parts(question: str) -> list[str]:
    """Split a question into its parts, in order; one that asks a single thing stays unchanged.

    A part of question words alone gets the rest from the first part that has more.

    >>> question_parts("When and by whom was the pier built, and how long is it?")
    ['When was the pier built?', 'By whom was the pier built?', 'How long is it?']
    """
    parts = [part.strip(" ,;?") for part in _AND.split(" ".join(question.split()))]
    parts = [part for part in parts if part]
    asked = (_ASKS.match(part) for part in parts if not _ONLY_ASKS.fullmatch(part))
    rest = next((found["rest"].strip() for found in asked if found), "")
    if len(parts) < 2 or not rest or not _ASKS.match(parts[0]):
        return [question]
    # "In which year was it built, and by whom?": the year is not asked for again.
    verb = _FROM_VERB.match(rest)
    rest = verb[1] if verb else rest
    found = [f"{part} {rest}" if _ONLY_ASKS.fullmatch(part) else part for part in parts]
    return [f"{part[:1].upper()}{part[1:]}?" for part in found]


def name_topic(parts: Sequence[str]) -> list[str]:
    """Make each part of a question understandable without the others.

    A part with a pronoun, or with hardly a word, gets the topic of the first part in front of it,
    since any release would answer "When was it released?", and any rule "When am I eligible?".

    >>> name_topic(["Who founded Debian?", "When was it released?"])
    ['Who founded Debian?', 'Founded Debian: when was it released?']
    """
    first = _ASKS.match(parts[0]) if parts else None
    if first is None:
        return list(parts)
    topic = _BEGINS.sub("", first["rest"]).strip(" ?")
    return [
        f"{topic[:1].upper()}{topic[1:]}: {part[:1].lower()}{part[1:]}"
        if number and topic and (_PRONOUN.search(part) or _SAYS_LITTLE.fullmatch(part))
        else part
        for number, part in enumerate(parts)
    ]
