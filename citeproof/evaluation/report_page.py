"""Renders a comparison of runs as a self-contained HTML file with plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from citeproof.evaluation.entries import Entry
from citeproof.evaluation.report import Report
from citeproof.evaluation.report_plots import COLOURS, Point, Series, plot
from citeproof.evaluation.results import Result
from citeproof.evaluation.statistics import estimate, name_metric
from citeproof.pages.render import asset, render_page
from citeproof.text import count

_COSTS = ("tokens", "seconds")
"""Costs against which quality is plotted."""
_GROUPS = 6
"""Number of points of a curve over a growing bank."""
_GOALS = {
    "sufficient": "questions whose passages suffice",
    "agreed": "answers agreed on",
    "faultless": "answers without fault",
}
"""Outcome of a round → the name of the curve of its share."""


def render_report(made: Report) -> str:
    """Return the page of a report.

    The file loads nothing, sends nothing and runs no scripts: its content security policy only
    allows its own style. All texts of the runs are escaped.
    """
    answers = sum(len(entry.run.items()) for entry in made.entries)
    return render_page(
        "report.html",
        f"{asset('report.css')}\n{asset('plots.css')}",
        script=False,
        title="Comparison of runs",
        kind="report",
        reason=f"{count(len(made.entries), 'run')} · {count(answers, 'answer')}",
        made=made,
        figures=list(_figures(made)),
        colours=COLOURS,
    )


def _figures(made: Report) -> Iterator[tuple[str, Markup]]:
    shown = [(name, name_metric(name)) for name in made.plotted]
    for name, said in shown:
        for cost in _COSTS:
            series = made.series(name, cost)
            if any(own.points[-1].x for own in series):  # some methods call no language model
                yield f"{said} against {cost}", plot(series, f"{cost} per question", said)
    curves = [(entry, own) for entry in made.entries if (own := curve(entry.run.results))]
    for of in sorted({of for _, (of, _) in curves}):
        series = [
            Series(e.number, e.name, [Point(n, y) for n, y in enumerate(shares, start=1)])
            for e, (own, shares) in curves
            if own == of
        ]
        yield f"{of.capitalize()}, by iteration", plot(series, "iterations", name_metric(of))
    for name, said in shown:
        if series := _over_bank(made.entries, name):
            yield f"{said} as the bank grows", plot(series, "cases in the bank", said)


def _over_bank(entries: Sequence[Entry], metric: str) -> list[Series]:
    """Return quality over the number of cases that the bank had when answers were started."""
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


def curve(results: Sequence[Result]) -> tuple[str, tuple[float, ...]] | None:
    """Return what a method reaches step by step, and its share after each of at least two steps.

    VTG: claims proved by their n-th trial. CaLM: answers on which both models agreed by the n-th
    round. LLatrieval: questions whose passages were sufficient by the n-th round. R²-MGA: answers
    in which the n-th or an earlier assessment found no fault.
    """
    rounds = [_rounds(result) for result in results if result.error is None]
    for key in _GOALS:
        if any(key in one for own in rounds for one in own):
            of = _GOALS[key]
            when = [next((n for n, one in enumerate(r, 1) if one.get(key)), None) for r in rounds]
            break
    else:
        of = "claims proved"
        answers = [result.answer for result in results if result.answer is not None]
        verdicts = [claim.verdict for answer in answers for claim in answer.claims]
        when = [v.trials if v.status == "supported" else None for v in verdicts]
    reached = [n for n in when if n is not None]
    steps = range(1, max(reached, default=0) + 1)
    shares = tuple(sum(n <= step for n in reached) / len(when) for step in steps)
    return (of, shares) if len(shares) > 1 else None


def _rounds(result: Result) -> list[dict[str, Any]]:
    search = result.details.get("retrieval") or {}
    found: list[dict[str, Any]] = result.details.get("rounds") or search.get("rounds") or []
    verdicts = ("complete", "correct", "cited")
    return [
        {**one, "faultless": False not in map(one.get, verdicts)} if "complete" in one else one
        for one in found
    ]
