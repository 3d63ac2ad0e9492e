"""Draws plots as SVG: points with their intervals, and curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from citeproof.pages.render import asset, fragment
from citeproof.text import plain, shorten

_WIDTH, _HEIGHT = 460.0, 300.0
_LEFT, _RIGHT, _TOP = 56.0, _WIDTH - 22.0, 16.0
"""Edges of the plot area."""
_LINE, _LETTERS = 22.0, 50
"""Height of a line below a drawing, and maximum number of letters of a name there."""
COLOURS = 8
"""Number of colours; series repeat them, so they also show their number."""


@dataclass(frozen=True)
class Point:
    """A value, with its interval if it is known."""

    x: float
    y: float
    low: float | None = None
    """Lower end of the interval of y."""
    high: float | None = None


@dataclass(frozen=True)
class Series:
    """Points that belong together."""

    number: int
    """Shown at the series' last point, and determines its colour."""
    name: str
    points: Sequence[Point]
    """Joined by a line if there are several."""


def plot(series: Sequence[Series], x: str, y: str, *, alone: bool = False) -> Markup:
    """Draw a plot of series, which are labelled with their numbers; the x axis begins at 0.

    `alone` makes a standalone SVG, with its style and a legend below, instead of one for a page.
    """
    points = [point for one in series for point in one.points]
    whole = all(float(point.x).is_integer() for point in points)
    xs = _ticks(0.0, max(point.x for point in points), whole=whole)
    lows = [point.y if point.low is None else point.low for point in points]
    highs = [point.y if point.high is None else point.high for point in points]
    ys = _ticks(min(lows), max(highs))
    bottom = _HEIGHT - 46.0

    def across(value: float) -> float:
        return _LEFT + (value - xs[0]) / (xs[-1] - xs[0]) * (_RIGHT - _LEFT)

    def down(value: float) -> float:
        return bottom - (value - ys[0]) / (ys[-1] - ys[0]) * (bottom - _TOP)

    return fragment(
        "plot.svg",
        x=x,
        y=y,
        across=across,
        down=down,
        columns=[(tick, _number(tick, xs)) for tick in xs],
        rows=[(tick, _number(tick, ys)) for tick in ys],
        series=[(one, shorten(plain(one.name), _LETTERS), _describe(one, x, y)) for one in series],
        colours=COLOURS,
        style=Markup(f"{asset('alone.css')}\n{asset('plots.css')}") if alone else "",
        width=_WIDTH,
        plain_height=_HEIGHT,
        height=_HEIGHT + (_LINE * len(series) if alone else 0),
        line=_LINE,
        left=_LEFT,
        right=_RIGHT,
        top=_TOP,
        bottom=bottom,
    )


def _ticks(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Return two to eight round numbers, optionally whole ones, that cover both ends."""
    wide, share = high - low, 0 <= low <= high <= 1
    if wide <= 1e-9 * abs(high):  # a single value, apart from rounding
        wide = abs(high) or 1.0
        low, high = low - wide / 2 if low else low, high + wide / 2
        if share:
            low, high = max(0.0, low), min(1.0, high)
            wide = high - low
    step = 10.0 ** math.floor(math.log10(wide))
    step *= next(part for part in (0.2, 0.5, 1.0, 2.0) if wide / (part * step) <= 6)
    if whole:
        step = max(1.0, step)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [n * step for n in range(first, last + 1)]


def _number(value: float, ticks: Sequence[float]) -> str:
    places = max(0, -math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9))
    return f"{value:,.{places}f}"


def _describe(one: Series, x: str, y: str) -> str:
    last = one.points[-1]
    span = "" if last.low is None else f" [{last.low:.3g}, {last.high:.3g}]"
    return f"{one.number} {one.name}: {y} {last.y:.3g}{span} at {x} {last.x:,.4g}"
