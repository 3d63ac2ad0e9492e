"""Values of figures and times: `1,000.50` is 1000.5, and `5 pm` is 17:00."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

_FRACTIONS = {"½": Decimal("0.5"), "¼": Decimal("0.25"), "¾": Decimal("0.75")}
_GROUPS = re.compile(r"\d{1,3}(?:[,'’ \u00a0\u2009\u202f]\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}")
_DECIMAL = re.compile(r"\d+\.\d+|\d+,\d{1,2}|\d+,\d{4,}")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_NAMED = re.compile(r"(?:\b[A-Z]\w*|\bversion|\brelease|\bv)[ -]?$")


def read_figure(said: str, before: str) -> list[str]:
    """Return the values of a figure: `1.250` may be a thousand and more, and `3,5` a decimal.

    Args:
        said: The figure, without what belongs to the sentence.
        before: The text before it, which tells versions from other decimals.
    """
    if fraction := _FRACTIONS.get(said[-1]):
        return [in_figures(Decimal(re.sub(r"\D", "", said) or 0) + fraction)]
    if _GROUPS.fullmatch(said):
        plain = re.sub(r"\D", "", said) if said.count(".") > 1 else re.sub(r"[^\d.]", "", said)
        return [trim(plain)]
    if _DECIMAL.fullmatch(said):
        if said.endswith("0") and not said.endswith(".0") and _NAMED.search(before):
            return [said]  # version 3.10 is not 3.1
        bare = trim(said.replace(",", "."))
        return [bare, said.replace(".", "")] if _THOUSANDS.fullmatch(said) else [bare]
    return [said.lstrip("0") or "0"]


def read_time(clock: str) -> list[str]:
    """Return a time in 24 hours; in both halves of the day if it does not say which."""
    hour, *rest = re.findall(r"\d+|[ap]", clock)
    minute = rest[0] if rest and rest[0].isdigit() else "00"
    if rest and rest[-1] in "ap":
        return [f"{int(hour) % 12 + 12 * (rest[-1] == 'p')}:{minute}"]
    if not 1 <= int(hour) <= 12 or hour[0] == "0":
        return [f"{int(hour)}:{minute}"]
    return [f"{int(hour)}:{minute}", f"{(int(hour) + 12) % 24}:{minute}"]


def multiply(values: Iterable[str], scale: int) -> list[str]:
    """Return the values times a scale; times and versions have none."""
    return [in_figures(Decimal(value) * scale) for value in values if _PLAIN.fullmatch(value)]


def trim(figure: str) -> str:
    """Return a figure without zeros that add nothing."""
    if "." in figure:
        figure = figure.rstrip("0").rstrip(".")
    figure = figure.lstrip("0")
    return f"0{figure}" if not figure or figure[0] == "." else figure


def in_figures(value: Decimal) -> str:
    """Return a value as the other functions write it."""
    return trim(f"{value:f}")
