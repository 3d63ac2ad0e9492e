"""Details of a claim that its premise lacks: numbers, dates and names.

An entailment model reads meanings, and overlooks a different year or name. No model is needed to
check whether a text contains a word. A missing word proves nothing: names have several forms. So
such a claim is checked twice instead of being rejected. Only names in code have a single form
(`code_names.py`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

from citeproof.tools.entailment.bounds import find_bound, find_sign
from citeproof.tools.entailment.known_names import missing_names
from citeproof.tools.entailment.numbers import ORDINALS, Number, may_mean, read_numbers
from citeproof.tools.entailment.spans import MONTHS

_ISO_DATE = re.compile(r"\b([12]\d{3})-(0[1-9]|1[0-2])-([0-2]\d|3[01])\b")
_COUNTED = re.compile(r"[- ]([a-z]{3,})")
_VAGUE = {"one", "first", "half", "once", "single", "both", "double"}
"""Words that are often not meant as numbers, as in "one of" and "first used"."""
_BEFORE_SECOND = re.compile(r"(?:\b(?:per|one|each|every|split)|\d)[ -]$")
"""What tells that a second is a time."""


def missing_details(premise: str, claim: str) -> list[str]:
    """Return the claim's numbers and names that the premise has in none of the known forms."""
    premise, claim = _ISO_DATE.sub(_in_words, premise), _ISO_DATE.sub(_in_words, claim)
    return [*_missing_numbers(premise, claim), *missing_names(premise, claim)]


def _in_words(date: re.Match[str]) -> str:
    return f"{int(date[3])} {MONTHS[int(date[2]) - 1]} {date[1]}"


def _missing_numbers(premise: str, claim: str) -> list[str]:
    """Return the claim's numbers that the premise has neither in figures nor in words.

    A bound in the premise ("over 800") counts only for a claim with a bound from the same side, a
    number below zero only for one below zero, and a number in a compound ("six-story") only for a
    claim that counts the same thing.
    """
    said = [one for one in read_numbers(claim) if not _is_vague(one, claim)]
    if not said:
        return []
    counted = set().union(*(_counts(one, claim) for one in said))
    known = defaultdict[str, set[str]](set)
    for one in read_numbers(premise):
        if not _is_compound(one, premise) or _counts(one, premise) & counted:
            for value in may_mean(one):
                known[find_sign(one, premise) + value].add(find_bound(one, premise))
    return list(dict.fromkeys(one.said for one in said if not _is_known(one, claim, known)))


def _is_vague(number: Number, text: str) -> bool:
    before = text[max(0, number.start - 8) : number.start]
    is_time = number.said == "second" and _BEFORE_SECOND.search(before) is not None
    return number.said.lower() in _VAGUE or is_time


def _is_known(number: Number, claim: str, known: Mapping[str, set[str]]) -> bool:
    """Whether a number of a claim is among the known values, each with its bounds."""
    fitting, sign = {"", find_bound(number, claim)}, find_sign(number, claim)
    return any(known[sign + value] & fitting for value in number.values if sign + value in known)


def _is_compound(number: Number, text: str) -> bool:
    is_joined = text.startswith("-", number.end) and _COUNTED.match(text, number.end) is not None
    return is_joined and number.said.lower() not in ORDINALS


def _counts(number: Number, text: str) -> set[tuple[str, str]]:
    """Return the values of a number with the beginning of what it counts; none if that is none."""
    noun = _COUNTED.match(text, number.end)
    return {(value, noun[1][:4]) for value in number.values} if noun else set()
