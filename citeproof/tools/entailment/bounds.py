"""What stands beside a number and makes it another one: "over 800", "5 kg or more", "-5 °C"."""

from __future__ import annotations

import re

from citeproof.tools.entailment.numbers import Number

_LEAST = "over|above|at least|(?:more|greater) than"
_MOST = "under|below|at most|(?:less|fewer) than"
_BEFORE = re.compile(
    rf"(?:\b(?P<not>not? )?(?:(?P<least>{_LEAST})|{_MOST})|\b(?:nearly|almost|up to)) +(?:the )?"
    r"(?:(?-i:[A-Z]{1,3}) ?)?[$€£¥]? ?$"
    r"|(?:(?P<from>≥|(?<![^\s(])>=?)|≤|(?<![^\s(])<=?) ?[$€£¥]?$",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"(?P<plus>\+(?![\w+]))|(?: ?[^\W\d_]+| ?[%°]\w?)? (?:and|or) (?:"
    r"(?P<least>more|over|above|older|longer|higher|greater|larger|later)"
    r"|less|fewer|under|below|younger|shorter|lower|smaller|earlier)\b(?! than)",
    re.IGNORECASE,
)
_MINUS = re.compile(r"(?:(?<![^\s(])[-−–]|\bminus )[$€£¥]?$", re.IGNORECASE)
_BELOW_ZERO = re.compile(r"(?: ?°\w?| degrees?(?: \w+)?)? below (?:zero|freezing)\b", re.IGNORECASE)


def find_bound(number: Number, text: str) -> str:
    """Return "least" or "most" for a bound from that side, as in "over 800"; "" if it is none."""
    if found := _BEFORE.search(text[max(0, number.start - 32) : number.start]):
        is_least = bool(found["least"] or found["from"]) != bool(found["not"])
    elif found := _BEHIND.match(text, number.end):
        is_least = bool(found["least"] or found["plus"])
    else:
        return ""
    return "least" if is_least else "most"


def find_sign(number: Number, text: str) -> str:
    """Return "-" for a number below zero, else ""."""
    before = text[max(0, number.start - 8) : number.start]
    return "-" if _MINUS.search(before) or _BELOW_ZERO.match(text, number.end) else ""
