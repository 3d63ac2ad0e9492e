"""Metrics and values as people read them."""

from __future__ import annotations

import re

from citeproof.evaluation.statistics import Estimate

__all__ = ["cell", "format_estimate", "words"]


def words(metric: str) -> str:
    """A metric or cost for people: `citation F1`."""
    text = metric.replace("_", " ")
    return re.sub(r"\b(?:f1|em|qa|llm|nli|dr|mauve)\b", lambda short: short[0].upper(), text)


def format_estimate(value: Estimate, *, sign: bool = False) -> tuple[str, str]:
    """A value and its interval, as people read them: `0.621` and `[0.580, 0.662]`."""
    large = max(abs(value.value), abs(value.low), abs(value.high)) > 1
    form = f"{'+' if sign else ''},.{1 if large else 3}f"
    return f"{value.value:{form}}", f"[{value.low:{form}}, {value.high:{form}}]"


def cell(value: Estimate | None, n: int, *, sign: bool = False) -> str:
    """A value, its interval, and the number of answers where it is not n; a dash for none."""
    if value is None:
        return "–"
    text = " ".join(format_estimate(value, sign=sign))
    return text if value.n == n else f"{text} ({value.n})"
