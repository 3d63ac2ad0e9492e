"""Compares runs: metrics and costs side by side, and differences with confidence intervals."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from citeproof.errors import InputError
from citeproof.evaluation.entries import COLUMNS, COSTS, Entry, read_entries
from citeproof.evaluation.report_plots import Point, Series, plot
from citeproof.evaluation.report_tables import Table, all_tables, notes
from citeproof.evaluation.statistics import name_metric
from citeproof.markdown import literal, row
from citeproof.paths import resolve

__all__ = ["HEADLINES", "Report", "markdown", "report"]

_SUMS = {"tokens": ("prompt_tokens", "completion_tokens")}
"""Sums that plots can show besides single costs → the costs that they add up."""
HEADLINES = ("citation_f1", "em_recall", "claim_recall", "qampari_f1_5", "token_f1", "gold_cited")
"""Metrics that are plotted by default, if they apply."""


@dataclass(frozen=True)
class Report:
    """A comparison, ready to be rendered."""

    entries: list[Entry]
    tables: list[Table]
    notes: list[str]
    base: Entry | None = None
    """The run that the others are compared with."""
    columns: tuple[str, ...] = COLUMNS
    """The metrics and costs in tables and notes, if a run has them."""

    @property
    def plotted(self) -> list[str]:
        """The metrics that a page plots: those requested, or else `HEADLINES`."""
        names = HEADLINES if self.columns == COLUMNS else self.columns
        return [name for name in names if any(name in e.card.metrics for e in self.entries)]

    def only(self, columns: Collection[str]) -> Report:
        """Return the comparison with only these `COLUMNS`; a note lists those that no run has."""
        unknown = [name for name in columns if name not in COLUMNS]
        if unknown or not columns:
            raise InputError(
                f"There is no metric or cost {unknown[0]!r}" if unknown else "No metric is named",
                fix=f"Known: {', '.join(COLUMNS)}.",
            )
        return _compare(self.entries, self.base, tuple(n for n in COLUMNS if n in columns))

    def series(self, metric: str, cost: str = "tokens") -> list[Series]:
        """Return a metric against the cost of an answer, with a point for each run that has both.

        A cost is a name in `COSTS`, or `tokens` for tokens read and written.
        """
        found = []
        for entry in self.entries:
            own = entry.card.metrics.get(metric)
            if entry.costs and own is not None:
                spent = sum(entry.costs[part].value for part in _SUMS.get(cost, (cost,)))
                point = Point(spent, own.value, own.low, own.high)
                found.append(Series(entry.number, entry.name, [point]))
        return found

    def draw(self, metric: str, cost: str = "tokens") -> str:
        """Return `series` as a standalone SVG."""
        if cost not in (costs := (*_SUMS, *COSTS)):
            raise InputError(f"There is no cost {cost!r}", fix=f"Known: {', '.join(costs)}.")
        if not (found := self.series(metric, cost)):
            known = dict.fromkeys(name for e in self.entries for name in e.card.metrics)
            raise InputError(
                f"{metric!r} cannot be drawn against {cost}",
                why="no run has both",
                fix=f"Metrics of these runs: {', '.join(known)}.",
            )
        return plot(found, f"{name_metric(cost)} per question", name_metric(metric), alone=True)


async def report(paths: Sequence[Path], against: Path | None = None) -> Report:
    """Compare runs by the scores that `citeproof score` saved for them.

    A run is a folder, or a JSON file of ALCE's runner. One without saved scores appears with the
    metrics that need no entailment model. The others are compared with the run `against` on the
    examples that both have; it is an error if there are none.
    """
    if against is None:
        return _compare(await read_entries(paths), None, COLUMNS)
    places = [resolve(path) for path in paths]
    if resolve(against) not in places:
        paths, places = [against, *paths], [resolve(against), *places]
    entries = await read_entries(paths)
    return _compare(entries, entries[places.index(resolve(against))], COLUMNS)


def markdown(made: Report) -> str:
    """Return the report as Markdown."""
    lines = ["# Comparison of runs", ""]
    for table in made.tables:
        head, *rows = table.rows
        lines += [f"## {literal(table.title)}", "", row(head), f"|{'---|' * len(head)}"]
        lines += [*map(row, rows), "", *(f"{literal(note)}\n" for note in table.notes)]
    return "\n".join([*lines, "## Notes", "", *(f"- {literal(note)}" for note in made.notes), ""])


def _compare(entries: list[Entry], base: Entry | None, columns: tuple[str, ...]) -> Report:
    tables = all_tables(entries, base, columns)
    return Report(entries, tables, notes(entries, base, columns), base, columns)
