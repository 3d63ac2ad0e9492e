"""A comparison of runs as one self-contained HTML file, with plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from markupsafe import Markup

from citeproof.evaluation.curves import curve
from citeproof.evaluation.entries import Entry
from citeproof.evaluation.labels import words
from citeproof.evaluation.report import Report
from citeproof.evaluation.report_plots import COLOURS, Point, Series, plot
from citeproof.evaluation.statistics import estimate
from citeproof.pages.render import asset, render_page
from citeproof.text import count

__all__ = ["render_report"]

_COSTS = ("tokens", "seconds")
"""Costs that quality is plotted against."""
_GROUPS = 6
"""Points of a curve over a growing bank."""


def render_report(made: Report) -> str:
    """The page of a report.

    The file loads nothing, sends nothing and runs nothing: its policy allows only its own style.
    Every text of the runs is escaped.
    """
    answers = sum(len(entry.run.results) for entry in made.entries)
    return render_page(
        "report.html",
        f"{asset('report.css')}\n{asset('plots.css')}",
        script=False,
        title="Comparison of runs",
        kind="report",
        reason=f"{count(len(made.entries), 'run')} · {count(answers, 'question')}",
        made=made,
        figures=list(_figures(made)),
        colours=COLOURS,
    )


def _figures(made: Report) -> Iterator[tuple[str, Markup]]:
    shown = [(name, words(name)) for name in made.plotted]
    for name, said in shown:
        for cost in _COSTS:
            if series := made.series(name, cost):
                yield f"{said} against {cost}", plot(series, f"{cost} per question", said)
    curves = [(entry, own) for entry in made.entries if (own := curve(entry.run.results))]
    for of, group in groupby(sorted(curves, key=lambda own: own[1].of), key=lambda own: own[1].of):
        series = [
            Series(e.number, e.name, [Point(n, y) for n, y in enumerate(own.shares, start=1)])
            for e, own in group
        ]
        yield f"{of.capitalize()}, by iteration", plot(series, "iterations", words(of))
    for name, said in shown:
        if series := _over_bank(made.entries, name):
            yield f"{said} as the bank grows", plot(series, "cases in the bank", said)


def _over_bank(entries: Sequence[Entry], metric: str) -> list[Series]:
    """Quality among answers that found about the same number of cases in the bank."""
    found = []
    for entry in entries:
        scores = entry.card.examples
        rows = sorted(
            (result.bank, result.id)
            for result in entry.run.results
            if result.bank is not None and result.id in scores
        )
        if not rows or rows[0][0] == rows[-1][0]:
            continue
        size = -(-len(rows) // _GROUPS)
        points = []
        for begin in range(0, len(rows), size):
            group = rows[begin : begin + size]
            if (own := estimate([scores[key] for _, key in group], metric)) is not None:
                cases = sum(number for number, _ in group) / len(group)
                points.append(Point(cases, own.value, own.low, own.high))
        if points:
            found.append(Series(entry.number, entry.name, points))
    return found
