"""Shows numbers as a spreadsheet shows them: `0.15` under the format `0%` as `15%`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import NamedTuple

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)[^\]]*\]'
    r"|\[(?P<compare>(?:[<>]=?|<>|=)-?\d+(?:\.\d+)?)\]|(?P<aside>\[[^\]]*\]|_.|\*.)"
    r"|(?P<general>General)|(?P<power>E[+-]0+)|(?P<digit>[0#?])|(?P<mark>.)",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST = 255
"""Characters of a format, as in Excel."""
_COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
_THOUSANDS = re.compile(r"(?<=\d)(?=(?:\d{3})+$)")
_TOO_LONG = 1e21
_MOST_DECIMALS = 20
_MOST_PERCENT = 3
_EXACT = Context(prec=60)


class _Token(NamedTuple):
    kind: str
    text: str


@dataclass(frozen=True)
class _Section:
    """One of the alternatives of a format, which semicolons separate."""

    before: str
    after: str
    compare: str = ""
    """The values that it is for, such as `>=1000`."""
    ones: tuple[_Token, ...] = ()
    """From the first digit before the decimal point to the last."""
    decimals: str = ""
    is_grouped: bool = False
    factor: Decimal = Decimal(1)
    is_plain: bool = False
    """Whether the number is written out, because the format is not one of decimal digits."""


_GENERAL = _Section("", "", is_plain=True)


def show_number(value: float, form: str) -> str:
    """Show a number in a format. Powers of ten and fractions become plain decimal numbers.

    >>> show_number(4103, "00000"), show_number(1234567, '0.0,,"M"'), show_number(-5, "0;(0)")
    ('04103', '1.2M', '(5)')
    """
    if not math.isfinite(value):
        return str(value)
    section, is_signed = _choose(value, _sections(form[:_LONGEST]))
    text = ""
    if section.is_plain or abs(value) >= _TOO_LONG:
        text = _plain(abs(value))
    elif section.ones or section.decimals:
        text = _digits(value, section)
    sign = "-" if is_signed and value < 0 and text.strip("0.,") else ""
    return " ".join(f"{sign}{section.before}{text}{section.after}".split())


def _choose(value: float, sections: Sequence[_Section]) -> tuple[_Section, bool]:
    """Return the section for a value, and whether it needs a minus sign."""
    if any(section.compare for section in sections):
        for section in sections:
            compare = section.compare.rstrip("-.0123456789")
            if not compare or _COMPARE[compare](value, float(section.compare[len(compare) :])):
                return section, not compare.startswith("<")
        return _GENERAL, True
    if value < 0 and len(sections) > 1:
        return sections[1], False
    return sections[2 if value == 0 and len(sections) > 2 else 0], True


@lru_cache(maxsize=512)
def _sections(form: str) -> tuple[_Section, ...]:
    sections: list[list[_Token]] = [[]]
    for found in _TOKEN.finditer(form):
        kind = found.lastgroup or ""
        if (kind, found[0]) == ("mark", ";"):
            sections.append([])
        else:
            sections[-1].append(_Token(kind, found[kind]))
    return tuple(map(_section, sections[:3]))  # the fourth is for texts


def _section(tokens: Sequence[_Token]) -> _Section:
    compare = next((token.text for token in tokens if token.kind == "compare"), "")
    places = [n for n, token in enumerate(tokens) if token.kind in {"digit", "general", "power"}]
    if not places:
        return _Section(_literals(tokens), "", compare)
    start, end = places[0], places[-1] + 1
    marks = [token.text if token.kind == "mark" else "" for token in tokens]
    if start and marks[start - 1] in {".", ","}:
        start -= 1
    while end < len(tokens) and marks[end] in {".", ","}:
        end += 1
    before, after = _literals(tokens[:start]), _literals(tokens[end:])
    if "/" in marks[start:end] or any(token.kind in {"general", "power"} for token in tokens):
        return _Section(before, after, compare, is_plain=True)
    point = marks.index(".", start) if "." in marks[start:end] else end
    ones = [n for n in places if n < point]
    # A comma between digits groups them; one after the last digit divides by a thousand.
    commas = [n for n in range(start, end) if marks[n] == ","]
    between = sum(ones[0] < comma < ones[-1] for comma in commas if ones)
    return _Section(
        before,
        after,
        compare,
        ones=tuple(tokens[ones[0] : ones[-1] + 1]) if ones else (),
        decimals="".join(tokens[n].text for n in places if n > point)[:_MOST_DECIMALS],
        is_grouped=between > 0,
        factor=Decimal(100) ** min(marks.count("%"), _MOST_PERCENT)
        / Decimal(1000) ** (len(commas) - between),
    )


def _digits(value: float, section: _Section) -> str:
    """Return the digits of a number, rounded, scaled, grouped and filled as a section says."""
    exact = Decimal(f"{abs(value):.15g}")  # Excel has 15 digits: it shows 1.005 as 1.01
    unit = Decimal(1).scaleb(-len(section.decimals))
    rounded = (exact * section.factor).quantize(unit, ROUND_HALF_UP, _EXACT)
    left, _, right = f"{rounded:f}".partition(".")
    least = section.decimals.rfind("0") + 1
    right = right[:least] + right[least:].rstrip("0")
    left = left.lstrip("0").zfill(sum(token.text == "0" for token in section.ones))
    if section.is_grouped:
        left = _THOUSANDS.sub(",", left)
    elif any(token.kind != "digit" for token in section.ones):
        left = _spread(left, section.ones)
    return f"{left}.{right}" if right else left


def _spread(digits: str, tokens: Sequence[_Token]) -> str:
    """Put digits in the places of a format such as `000-00-0000`, the last one in the last."""
    left, said = [*digits], list[str]()
    for token in reversed(tokens):
        if token.kind == "digit":
            said.append(left.pop() if left else "")
        elif left:
            said.append(_literals([token]))
    return "".join([*left, *reversed(said)])


def _plain(value: float) -> str:
    is_whole = value < 1e15 and float(value).is_integer()
    return str(int(value)) if is_whole else f"{value:.12g}"


def _literals(tokens: Sequence[_Token]) -> str:
    return "".join(token.text for token in tokens if token.kind not in {"aside", "compare"})
