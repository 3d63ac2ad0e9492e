"""Reads the numbers of a text, in figures and in words, as values: "2.5 million" is 2500000."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
_TEENS = "fifteen sixteen seventeen eighteen nineteen twenty"
_TENS = "thirty forty fifty sixty seventy eighty ninety hundred"
NUMBER_WORDS = f"{_UNITS} {_TEENS} {_TENS}".split()
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_LATER = "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
ORDINALS = f"{_ORDINALS} {_LATER}".split()
NUMBER_VALUES = (
    {word: str(value) for value, word in enumerate(f"{_UNITS} {_TEENS}".split())}
    | {word: str(10 * value) for value, word in enumerate(_TENS.split(), start=3)}
    | {word: str(value) for value, word in enumerate(_ORDINALS.split(), start=1)}
    | {"once": "1", "twice": "2", "both": "2", "single": "1", "double": "2"}
    | {"half": "0.5", "dozen": "12"}
)
_SCALES = {"hundred": 100, "dozen": 12, "thousand": 10**3, "million": 10**6, "billion": 10**9} | {
    "trillion": 10**12, "k": 10**3, "m": 10**6, "mn": 10**6, "b": 10**9, "bn": 10**9
}  # fmt: skip
_MAY_BE_UNITS = {"k", "m", "b"}
"""Five metres are `5m` too."""
_TEN = NUMBER_WORDS[20:28]
_DECADES = {f"{word[:-1]}ies": f"19{NUMBER_VALUES[word]}s" for word in _TEN}
_VALUES = {word: Decimal(value) for word, value in NUMBER_VALUES.items()} | {
    word: Decimal(value) for value, word in enumerate(ORDINALS, start=1)
}


def _any(words: list[str]) -> str:
    return f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"


_DIGITS, _SCALE = _any(NUMBER_WORDS[1:10]), _any([*list(_SCALES)[:6], "bn", "mn"])
_BELOW = rf"(?:{_any(_TEN)}(?:[- ]{_DIGITS}|-{_any(ORDINALS[:9])})?|{_any(list(_VALUES))})"
_SMALL = rf"(?:{_BELOW}|an?)[- ]hundred(?:[- ](?:and )?{_BELOW})?|{_BELOW}"
_TOKEN = re.compile(
    r"(?P<clock>(?<![\d.,:])\d{1,2}(?:[:.][0-5]\d)? ?[ap]\.?m\b|(?<![\d.,:])\d\d?:[0-5]\d(?![\d:]))"
    r"|(?P<decade>(?<![\d.,])(?:(?:1\d|20)\d|['’]?[2-9])0['’]?s\b)"
    r"|(?P<figure>(?:(?<![-.,\d])\d{1,3}(?P<by>[,'’ \u00a0\u2009\u202f])\d{3}(?:(?P=by)\d{3})*"
    r"(?:\.\d+)?(?![.,]?\d)"
    rf"|\d(?:[\d.,]*\d)?)[½¼¾]?|[½¼¾])(?:[- ]?(?P<scale>{_SCALE}|(?<=\d)[kmb])\b)?"
    rf"|\b(?=(?:an?[- ]{_SCALE}|{_any([*_VALUES, *_DECADES])})\b)(?:(?P<era>{_any(list(_DECADES))})"
    rf"|(?P<words>(?:(?:(?:{_SMALL})(?: and a half)?|half an?|an?)[- ]{_SCALE}"
    rf"(?:[- ](?:and )?(?:{_SMALL})(?:[- ]thousand)?)?|(?:{_SMALL})(?: and a half)?)))\b"
)
_RANGE = re.compile(r" ?(?:-|–|to|and|or) ?[$€£]?")
_FRACTIONS = {"½": Decimal("0.5"), "¼": Decimal("0.25"), "¾": Decimal("0.75")}
_GROUPS = re.compile(r"\d{1,3}(?:[,'’ \u00a0\u2009\u202f]\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}")
_DECIMAL = re.compile(r"\d+\.\d+|\d+,\d{1,2}|\d+,\d{4,}")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_NAMED = re.compile(r"(?:\b[A-Z]\w*|\bversion|\brelease|\bv)[ -]?$")


class Number(NamedTuple):
    """A number as a text says it, where it begins and ends, and what it may mean in figures."""

    said: str
    start: int
    end: int
    values: frozenset[str]
    scale: int
    """What its last word multiplies by: 1000000 for "2.5 million"."""


def read_numbers(text: str) -> list[Number]:
    """Return the numbers of a text in order.

    >>> [(one.said, *one.values) for one in read_numbers("Twenty-five of 2.5 million left at 5 pm")]
    [('Twenty-five', '25'), ('2.5 million', '2500000'), ('5 pm', '17:00')]
    """
    low = text.lower()
    text = text if len(text) == len(low) else low
    found = [_read(token, text) for token in _TOKEN.finditer(low)]
    for i, (one, after) in enumerate(pairwise(found)):
        # "2 to 3 million" starts at two million, or at two.
        if one.scale < after.scale and _RANGE.fullmatch(text, one.end, after.start):
            found[i] = one._replace(values=one.values | {*_multiply(one.values, after.scale)})
    return found


def may_mean(number: Number) -> Iterator[str]:
    """Yield what a number means or implies: 5 may be 17:00, and 1994 is in the 1990s."""
    yield from number.values
    parts = number.said.split()
    if len(parts) > 1 and all(part.isdigit() for part in parts):
        yield from parts  # of two columns, not one number
    for value in number.values:
        hour, _, minute = value.partition(":")
        if minute:
            yield from (_trim(f"{one}.{minute}") for one in (hour, int(hour) % 12 or 12))
        elif value.isdigit() and len(value) == 4:
            yield f"{value[:3]}0s"
        elif value.isdigit() and len(value) < 3:
            yield from _read_time(f"{value}:00")
        elif clock := re.fullmatch(r"(\d\d?)\.([0-5]\d)", number.said):
            yield from _read_time(":".join(clock.groups()))


def _read(token: re.Match[str], text: str) -> Number:
    found, scale = token[0], 1
    if token["clock"]:
        values = _read_time(found)
    elif token["decade"]:
        decade = re.sub(r"\D", "", found)
        # "60s" may be seconds.
        values = [f"{decade}s"] if len(decade) == 4 else [f"19{decade}s", decade]
    elif token["era"]:
        values = [_DECADES[found]]
    elif token["words"]:
        words = re.findall(r"\w+", found)
        values, scale = [_fold(words)], _SCALES.get(words[-1], 1)
    else:
        said = text[token.start("figure") : token.end("figure")]
        values = read_figure(said, text[max(0, token.start() - 12) : token.start()])
        if token["scale"]:
            scale = _SCALES[token["scale"]]
            kept = values if token["scale"] in _MAY_BE_UNITS else []
            values = [*kept, *_multiply(values, scale)]
    said = text[token.start() : token.end()]
    return Number(said, token.start(), token.end(), frozenset(values), scale)


def _fold(words: list[str]) -> str:
    """Return the value of a number in words, such as "two and a half million"."""
    total = part = Decimal(0)
    for word in words:
        if word in _SCALES:
            part = _SCALES[word] * (part or Decimal(1))
            if _SCALES[word] > 100:
                total, part = total + part, Decimal(0)
        else:
            part += _VALUES.get(word, 0)
    return _in_figures(total + part)


def read_figure(said: str, before: str) -> list[str]:
    """Return the values of a figure: `1.250` may be a thousand and more, and `3,5` a decimal.

    Args:
        said: The figure, without what belongs to the sentence.
        before: The text before it, which tells versions from other decimals.
    """
    if fraction := _FRACTIONS.get(said[-1]):
        return [_in_figures(Decimal(re.sub(r"\D", "", said) or 0) + fraction)]
    if _GROUPS.fullmatch(said):
        plain = re.sub(r"\D", "", said) if said.count(".") > 1 else re.sub(r"[^\d.]", "", said)
        return [_trim(plain)]
    if _DECIMAL.fullmatch(said):
        if said.endswith("0") and not said.endswith(".0") and _NAMED.search(before):
            return [said]  # version 3.10 is not 3.1
        bare = _trim(said.replace(",", "."))
        return [bare, said.replace(".", "")] if _THOUSANDS.fullmatch(said) else [bare]
    return [said.lstrip("0") or "0"]


def _read_time(clock: str) -> list[str]:
    """Return a time in 24 hours; in both halves of the day if it does not say which."""
    hour, *rest = re.findall(r"\d+|[ap]", clock)
    minute = rest[0] if rest and rest[0].isdigit() else "00"
    if rest and rest[-1] in "ap":
        return [f"{int(hour) % 12 + 12 * (rest[-1] == 'p')}:{minute}"]
    if not 1 <= int(hour) <= 12 or hour[0] == "0":
        return [f"{int(hour)}:{minute}"]
    return [f"{int(hour)}:{minute}", f"{(int(hour) + 12) % 24}:{minute}"]


def _multiply(values: Iterable[str], scale: int) -> list[str]:
    """Return the values times a scale; times and versions have none."""
    return [_in_figures(Decimal(value) * scale) for value in values if _PLAIN.fullmatch(value)]


def _trim(figure: str) -> str:
    """Return a figure without zeros that add nothing."""
    if "." in figure:
        figure = figure.rstrip("0").rstrip(".")
    figure = figure.lstrip("0")
    return f"0{figure}" if not figure or figure[0] == "." else figure


def _in_figures(value: Decimal) -> str:
    """Return a value as the other functions write it."""
    return _trim(f"{value:f}")
