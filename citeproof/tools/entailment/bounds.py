"""What stands beside a number and makes it another one: "over 800", "5 kg or more", "-5 °C"."""

from __future__ import annotations

import re

from citeproof.tools.entailment.numbers import Number

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


def find_bound(number: Number, text: str) -> str:
    """Return "least" or "most" for a bound from that side, as in "over 800"; "" if it is none."""
    if found := _BEFORE.search(text, max(0, number.start - 40), number.start):
        is_least = bool(found["least"] or found["from"]) != bool(found["not"])
    elif found := _BEHIND.match(text, number.end):
        is_least = found.lastindex is not None
    else:
        return ""
    return "least" if is_least else "most"


def find_sign(number: Number, text: str) -> str:
    """Return "-" for a number below zero, else ""."""
    found = _MINUS.search(text, max(0, number.start - 12), number.start)
    is_listed = found and found["item"] and _NOUN.match(text, number.end)
    return "-" if (found and not is_listed) or _BELOW_ZERO.match(text, number.end) else ""
