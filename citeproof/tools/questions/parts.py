"""The parts of a question: "Who founded Debian, and when?" asks two things."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citeproof.text import QUESTION_WORDS
from citeproof.tools.sentences import split

_WH = rf"(?:{QUESTION_WORDS})"
_BEFORE = r"(?:(?:in|on|at|by|for|to|of|from|with|under|since|until)\s+)?"
AUXILIARY = (
    "(?:am|is|are|was|were|do|does|did|has|have|had|can|could|will|would|may|must|should|shall)"
)
_AND = re.compile(
    rf"[,;]?\s+(?:and|or)\s+(?={_BEFORE}{_WH}\b)|,\s+(?={_BEFORE}{_WH}(?:,|\s+(?:and|or)\b))"
    rf"|\?\s+(?:(?:and|or)\s+)?(?=(?:{_BEFORE}{_WH}|{AUXILIARY})\b)",
    re.I,
)
_ASKS = re.compile(rf"^{_BEFORE}{_WH}\b(?P<rest>.*)$", re.I)
_ASKS_ITSELF = re.compile(
    rf"^{_BEFORE}{_WH}"
    r"(?:\s+(?!(?:I|you|he|she|it|we|they|a|an|the|this|that|my|your|our)\b)\w+){0,2}?"
    rf"\s+{AUXILIARY}\b",
    re.I,
)
"""Matches "when is it served", but not "when it is served", which may be what is known or not."""
_INDIRECT = re.compile(rf"^{_BEFORE}{_WH}\s+(?:to|I|you|he|she|it|we|they)\b", re.I)
_DEMANDS = re.compile(
    r"(?:also,?\s+|please\s+)*"
    r"(?:list|name|give|explain|describe|enumerate|compare|summari[sz]e|tell|show)\b",
    re.I,
)
_PRONOUN = re.compile(
    r"\b(?:he|him|his|she|hers?|it|its|they|them|theirs?|this|that|these)\b", re.I
)
_BEGINS = re.compile(rf"^\s*(?:\w+\s+)?{AUXILIARY}\b", re.I)
"""Matches what stands before the topic, such as "long is" in "How long is a cycle?"."""
_YES_OR_NO = re.compile(rf"^\W*{AUXILIARY}(?:n['’]t)?\s+(?!.*,?\s+or\b)", re.I)
_ENDS_ASKING = re.compile(rf"\b{_WH}$", re.I)
_CONDITION = re.compile(
    rf"^\s*(?:if|when|while|after|before|once|since|because|as|although)\s+(?!{AUXILIARY}\b)"
    rf"[^?]*?,\s+(?=(?:{_BEFORE}{_WH}|{AUXILIARY})\b)",
    re.I,
)
"""Matches a clause in front of a question, such as "If I am ill,"."""
_COURTESY = re.compile(
    r"^\W*(?:please\s+)?"
    r"(?:(?:(?:can|could|would|will) (?:you|anybody|anyone|somebody) (?:please )?)?"
    r"(?:tell|explain|say|show)(?: to)?(?: me| us)?|do(?:es)? (?:you|anybody|anyone) know"
    rf"|I(?: would|['’]d) like to know|I want to know),?\s+(?={_BEFORE}{_WH}\b)",
    re.I,
)
"""Matches the beginning of "Can you tell me when it opened?", which asks when."""
_ONLY_ASKS = re.compile(rf"{_BEFORE}{_WH}(?:\s+(?:many|much|long|often|far|year|date))?", re.I)
"""Matches a part that does not say on its own what it asks."""
_SAYS_LITTLE = re.compile(
    rf"(?:(?:{_WH}|{AUXILIARY}|I|me|my|we|us|our|you|your|one|a|an|the|much|many|long|often)\b\W*)*"
    r"(?:(?-i:[^\W\dA-Z])\w*\W*)?",
    re.I,
)
"""Matches a part with one word, and no name, besides those of many questions."""
_FROM_VERB = re.compile(rf"(?:\S+\s+){{0,2}}?({AUXILIARY}\b.*)", re.I)


def strip_preamble(question: str) -> str:
    """Return a question without what stands in front of it; English only.

    That is statements, a condition, or "Can you tell me". Of 32 questions on a book, eight begin
    with one.

    >>> strip_preamble("I pay by card. If I cancel, do I get it back?")
    'do I get it back?'
    >>> strip_preamble("Can you tell me when it opened?")
    'when it opened?'
    """
    spans = split(question)
    begins = (span.start for span in spans if question[: span.end].endswith("?"))
    return _COURTESY.sub("", _CONDITION.sub("", question[next(begins, 0) :]))


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
    >>> question_parts("Can I return it, and how?")
    ['Can I return it?', 'How can I return it?']
    """
    said = " ".join(question.split())
    end = said.rfind("?") + 1
    asked, tail = (said[:end], said[end:].strip()) if end else (said, "")
    direct = _COURTESY.sub("", asked)
    parts = [part for one in _AND.split(direct) if (part := one.strip(" ,;?"))]
    rest = next(filter(None, map(_what_is_asked, parts)), "")
    if _DEMANDS.match(tail):  # not "Please answer briefly."
        parts.append(tail.rstrip(". "))
    if len(parts) < 2 or not rest or not _are_parts(parts, is_direct=direct == asked):
        return [question]
    found = [f"{part} {rest}" if _ONLY_ASKS.fullmatch(part) else part for part in parts]
    return [f"{part[:1].upper()}{part[1:]}?" for part in found]


def _what_is_asked(part: str) -> str:
    """What another part asks about too: "was it lit", of "In which year was it lit"."""
    if _ONLY_ASKS.fullmatch(part):
        return ""
    if (asks := _ASKS.match(part)) is None:
        return f"{part[:1].lower()}{part[1:]}" if _YES_OR_NO.match(part) else ""
    rest = asks["rest"].strip()
    verb = _FROM_VERB.match(rest)
    return verb[1] if verb and " " in verb[1] else rest


def _are_parts(parts: Sequence[str], *, is_direct: bool) -> bool:
    """Whether each part asks; "How do I find out when and where I can vote?" is one question."""
    first, *more = parts
    if is_direct and any(map(_INDIRECT.match, more)):
        return False
    if _ASKS.match(first):
        return bool(_ONLY_ASKS.fullmatch(first)) or not _ENDS_ASKING.search(first)
    own = (_ASKS_ITSELF.match(one) or _ONLY_ASKS.fullmatch(one) for one in more)
    return bool(_YES_OR_NO.match(first)) and not _ENDS_ASKING.search(first) and all(own)


def name_topic(parts: Sequence[str]) -> list[str]:
    """Make each part of a question understandable without the others.

    A part with a pronoun, or with hardly a word, gets the topic of the first part in front of it,
    since any release would answer "When was it released?", and any rule "When am I eligible?".

    >>> name_topic(["Who founded Debian?", "When was it released?"])
    ['Who founded Debian?', 'Founded Debian: when was it released?']
    """
    first = parts[0] if parts else ""
    asks = _ASKS.match(first)
    topic = asks["rest"] if asks else first if _YES_OR_NO.match(first) else ""
    topic = _BEGINS.sub("", topic).strip(" ?")
    return [
        f"{topic[:1].upper()}{topic[1:]}: {part[:1].lower()}{part[1:]}"
        if number and topic and (_PRONOUN.search(part) or _SAYS_LITTLE.fullmatch(part))
        else part
        for number, part in enumerate(parts)
    ]
