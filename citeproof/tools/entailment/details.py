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

from citeproof.tools.entailment.known_names import missing_names
from citeproof.tools.entailment.numbers import ORDINALS, Number, may_mean, read_numbers
from citeproof.tools.entailment.spans import MONTHS

_ISO_DATE = re.compile(r"\b([12]\d{3})-(0[1-9]|1[0-2])-([0-2]\d|3[01])\b")
_COUNTED = re.compile(r"[- ]([a-z]{3,})")
_VAGUE = {"one", "first", "half", "once", "single", "both", "double"}
"""Words that are often not meant as numbers, as in "one of" and "first used"."""
_BEFORE_SECOND = re.compile(r"(?:\b(?:per|one|each|every|split)|\d)[ -]$")
"""What tells that a second is a time."""
# What stands beside a number and makes it another one: "over 800", "5 kg or more", "-5 °C".
_MORE = "more|greater|larger|higher|longer|older|heavier|later"
_LESS = "less|fewer|smaller|lower|shorter|younger|lighter|earlier"
_LEAST = rf"over|above|at least|a minimum of|(?:{_MORE}) than"
_MOST = rf"under|below|at most|a maximum of|(?:{_LESS}) than"
_MONEY = r"(?:(?-i:[A-Z]{0,3}) ?[$€£¥] ?|(?-i:USD|EUR|GBP|CHF|JPY|CNY|CAD|AUD) ?)?"
_BEFORE = re.compile(
    rf"(?:\b(?P<not>not? )?(?:(?P<least>{_LEAST})|{_MOST})|\b(?:nearly|almost|up to)) +(?:the )?"
    rf"{_MONEY}\Z"
    # "Settings > 2 columns" is a path, and "> 2 came" a quotation in a mail.
    r"|(?:(?P<from>≥ ?|(?<![^\s(])>= ?|(?<=[^\s>] )>|\(> ?)|≤ ?|(?<![^\s(])<=? ?)[$€£¥]?\Z",
    re.IGNORECASE,
)
_END = r"(?= ?(?:[.,;:!?()\n]|\Z)|(?<=er) (?:are|is|may|must|can|pay)\b)"
"""No noun comes next, as in "3 schools and over 20 shops"."""
_BEHIND = re.compile(  # what a group finds is a bound from below
    r"(\+(?![\w+/]))|(?: ?[^\W\d_]+| ?[%°]\w?)?(?:"
    rf" or (?:({_MORE})|{_LESS})\b(?! than| \w+ly\b| \d)"
    rf"| (?:and|or) (?:(over|above|older)|under|below|younger)\b{_END}"
    rf"|(?<!\d{{4}}),? at (?:(least)|most)\b{_END})",
    re.IGNORECASE,
)
_MINUS = re.compile(
    r"(?:(?P<item>(?<![^\n])[ \t]*[-–])|(?<!\d\s)(?:(?<![^\s([])[$€£¥]?[-−–]"
    r"|(?<!plus or )(?<!plus/)\bminus )[$€£¥]?)\Z",
    re.IGNORECASE,
)
_NOUN = re.compile(r" (?!degree)[^\W\d_]{2}")
_BELOW_ZERO = re.compile(
    r"(?: ?(?:-|–|to|and|or) ?\d+(?:[.,]\d+)?)?(?: ?°\w?| degrees?(?: \w+)?)?"
    r" below (?:zero|freezing)\b",
    re.IGNORECASE,
)


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
                known[_find_sign(one, premise) + value].add(_find_bound(one, premise))
    return list(dict.fromkeys(one.said for one in said if not _is_known(one, claim, known)))


def _is_vague(number: Number, text: str) -> bool:
    before = text[max(0, number.start - 8) : number.start]
    is_time = number.said == "second" and _BEFORE_SECOND.search(before) is not None
    return number.said.lower() in _VAGUE or is_time


def _is_known(number: Number, claim: str, known: Mapping[str, set[str]]) -> bool:
    """Whether a number of a claim is among the known values, each with its bounds."""
    fitting, sign = {"", _find_bound(number, claim)}, _find_sign(number, claim)
    return any(known[sign + value] & fitting for value in number.values if sign + value in known)


def _is_compound(number: Number, text: str) -> bool:
    is_joined = text.startswith("-", number.end) and _COUNTED.match(text, number.end) is not None
    return is_joined and number.said.lower() not in ORDINALS


def _counts(number: Number, text: str) -> set[tuple[str, str]]:
    """Return the values of a number with the beginning of what it counts; none if that is none."""
    noun = _COUNTED.match(text, number.end)
    return {(value, noun[1][:4]) for value in number.values} if noun else set()


def _find_bound(number: Number, text: str) -> str:
    """Return "least" or "most" for a bound from that side, as in "over 800"; "" if it is none."""
    if found := _BEFORE.search(text, max(0, number.start - 40), number.start):
        is_least = bool(found["least"] or found["from"]) != bool(found["not"])
    elif found := _BEHIND.match(text, number.end):
        is_least = found.lastindex is not None
    else:
        return ""
    return "least" if is_least else "most"


def _find_sign(number: Number, text: str) -> str:
    """Return "-" for a number below zero, else ""."""
    found = _MINUS.search(text, max(0, number.start - 12), number.start)
    is_listed = found and found["item"] and _NOUN.match(text, number.end)
    return "-" if (found and not is_listed) or _BELOW_ZERO.match(text, number.end) else ""
