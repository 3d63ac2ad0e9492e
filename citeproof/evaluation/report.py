"""Compares runs: metrics and costs side by side, and how sure the differences are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citeproof.errors import InputError
from citeproof.evaluation.examples import Mode, Scores
from citeproof.evaluation.manifest import leaves
from citeproof.evaluation.report_plots import Point, Series, plot
from citeproof.evaluation.results import Result
from citeproof.evaluation.runs import Run, open_run
from citeproof.evaluation.scorecard import Scorecard, read_scorecard, scored
from citeproof.evaluation.scoring import MAUVE, METRICS
from citeproof.evaluation.statistics import Estimate, estimate, estimates
from citeproof.markdown import literal, row
from citeproof.paths import expanded
from citeproof.text import count

__all__ = [
    "COLUMNS",
    "COSTS",
    "HEADLINES",
    "MODES",
    "Curve",
    "Entry",
    "Report",
    "Table",
    "curve",
    "markdown",
    "report",
]

MODES: tuple[Mode, ...] = ("corrected", "strict")
_MODES = (
    "Two ways of counting: strict reproduces ALCE's released evaluator, corrected (the default) "
    "counts without its slips."
)
COSTS = (
    "llm_calls",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "nli_pairs",
    "retrievals",
    "passages_met",
    "seconds",
)
"""What an answer cost: the fields of its usage, and how many passages the method met."""
COLUMNS = (*METRICS, "mauve", *COSTS)
"""All that a report may tell of runs."""
_SUMS = {"tokens": ("prompt_tokens", "completion_tokens")}
"""What plots show beside single costs → the costs that add up to it."""
_GOALS = {
    "sufficient": "questions whose passages suffice",
    "agreed": "answers agreed on",
    "faultless": "answers without fault",
}
"""What a round reaches, or not → of what a curve tells the share."""
HEADLINES = (
    "citation_f1",
    "em_recall",
    "claim_recall",
    "qampari_f1_5",
    "token_f1",
    "gold_cited",
)
"""Metrics that are plotted, where they apply."""


@dataclass(frozen=True)
class Curve:
    """How far a method had come after each of its iterations."""

    of: str
    """What the shares are of."""
    shares: tuple[float, ...]
    """From the first iteration on; they never fall."""


@dataclass(frozen=True)
class Entry:
    """One run in a report."""

    number: int
    """From 1, in the order given."""
    name: str
    run: Run
    cards: dict[Mode, Scorecard]
    """At least one."""
    costs: dict[str, Estimate]
    """Per question; empty where nothing tells."""

    @property
    def card(self) -> Scorecard:
        """The scores that plots show: corrected where there are any."""
        return next(self.cards[mode] for mode in MODES if mode in self.cards)


@dataclass(frozen=True)
class Table:
    """Cells for people; the first row is the head."""

    title: str
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """A comparison, ready to be written."""

    entries: list[Entry]
    tables: list[Table]
    notes: list[str]
    base: Entry | None = None
    """The run that the others are compared with."""
    columns: tuple[str, ...] = COLUMNS
    """Metrics and costs that tables and notes tell of, where there are any."""

    @property
    def plotted(self) -> list[str]:
        """Metrics that a page plots: those that were asked for, else `HEADLINES`."""
        names = HEADLINES if self.columns == COLUMNS else self.columns
        return [name for name in names if any(name in e.card.metrics for e in self.entries)]

    def only(self, columns: Collection[str]) -> Report:
        """The same comparison with no other metrics and costs than these.

        Args:
            columns: Of `COLUMNS`. A note names those that no run has.

        Raises:
            InputError: One of them is not known, or none is named.
        """
        unknown = [name for name in columns if name not in COLUMNS]
        if unknown or not columns:
            raise InputError(
                f"There is no metric or cost {unknown[0]!r}" if unknown else "No metric is named",
                fix=f"Known: {', '.join(COLUMNS)}.",
            )
        return _compared(self.entries, self.base, tuple(n for n in COLUMNS if n in columns))

    def series(self, metric: str, cost: str = "tokens") -> list[Series]:
        """A metric against what an answer cost: a point for each run that knows both.

        Args:
            metric: Of `METRICS`.
            cost: Of `COSTS`, or `tokens`: those read and written.
        """
        parts = _SUMS.get(cost, (cost,))
        return [
            Series(e.number, e.name, [Point(spent, own.value, own.low, own.high)])
            for e in self.entries
            if e.costs and (own := e.card.metrics.get(metric)) is not None
            for spent in [sum(e.costs[part].value for part in parts)]
        ]

    def draw(self, metric: str, cost: str = "tokens") -> str:
        """The SVG of `series`, which stands by itself.

        Raises:
            InputError: There is no such cost, or no run knows both.
        """
        if cost not in (costs := (*_SUMS, *COSTS)):
            raise InputError(f"There is no cost {cost!r}", fix=f"Known: {', '.join(costs)}.")
        if not (found := self.series(metric, cost)):
            known = dict.fromkeys(name for e in self.entries for name in e.card.metrics)
            raise InputError(
                f"{metric!r} cannot be drawn against {cost}",
                why="no run has both",
                fix=f"Metrics of these runs: {', '.join(known)}.",
            )
        return plot(found, f"{words(cost)} per question", words(metric), alone=True)


async def report(paths: Sequence[Path], against: Path | None = None) -> Report:
    """Compare runs by the scores that `citeproof score` has kept for them.

    A run that was not scored yet appears with the metrics that need no entailment model.

    Args:
        paths: Folders of runs, or JSON files of ALCE's runner.
        against: One of the runs: the differences of the others to it are told, on the examples
            that both have.

    Raises:
        InputError: A run cannot be read, or `against` shares no example with another.
    """
    if against is not None and _place(against) not in map(_place, paths):
        paths = [against, *paths]
    runs = [open_run(path) for path in paths]
    names = _names(runs)
    entries = [
        Entry(number, name, run, await _cards(run), estimates(_costs(run.results)))
        for number, (name, run) in enumerate(zip(names, runs, strict=True), start=1)
    ]
    base = None if against is None else entries[[*map(_place, paths)].index(_place(against))]
    return _compared(entries, base, COLUMNS)


def _place(path: Path) -> Path:
    return expanded(path).resolve()


def markdown(made: Report) -> str:
    """The report as Markdown."""
    lines = ["# Comparison of runs", ""]
    for table in made.tables:
        head, *rows = table.rows
        lines += [f"## {literal(table.title)}", "", row(head), f"|{'---|' * len(head)}"]
        lines += [*map(row, rows), "", *(f"{literal(note)}\n" for note in table.notes)]
    return "\n".join([*lines, "## Notes", "", *(f"- {literal(note)}" for note in made.notes), ""])


def curve(results: Sequence[Result]) -> Curve | None:
    """How far a run was after each iteration; None where its method has one only.

    VTG: claims proved by their n-th trial. CaLM: answers that both models agreed on by the n-th
    round. LLatrieval: questions whose passages were found to suffice by the n-th round. R²-MGA:
    answers in which the n-th assessment, or one before it, found no fault.
    """
    rounds = [_rounds(result) for result in results if result.error is None]
    for key, of in _GOALS.items():
        if any(key in one for own in rounds for one in own):
            return _reached(of, [_first(own, key) for own in rounds])
    verdicts = [
        claim.verdict
        for result in results
        if result.answer is not None
        for claim in result.answer.claims
    ]
    proved = [v.trials if v.status == "supported" else None for v in verdicts]
    return _reached("claims proved", proved)


def _rounds(result: Result) -> list[dict[str, Any]]:
    search = result.details.get("retrieval") or {}
    found: list[dict[str, Any]] = result.details.get("rounds") or search.get("rounds") or []
    verdicts = ("complete", "correct", "cited")
    return [
        {**one, "faultless": all(map(one.get, verdicts))} if "complete" in one else one
        for one in found
    ]


def _reached(of: str, when: Sequence[int | None]) -> Curve | None:
    last = max((number for number in when if number is not None), default=0)
    if last < 2:
        return None
    shares = [
        sum(number is not None and number <= n for number in when) / len(when)
        for n in range(1, last + 1)
    ]
    return Curve(of, tuple(shares))


def _first(rounds: Sequence[Mapping[str, Any]], key: str) -> int | None:
    return next((n for n, one in enumerate(rounds, start=1) if one.get(key)), None)


def _compared(entries: list[Entry], base: Entry | None, columns: tuple[str, ...]) -> Report:
    tables = [_overview(entries)]
    for mode in MODES:
        if any(mode in entry.cards for entry in entries):
            tables.append(_quality(entries, mode, columns))
            if base is not None:
                tables.append(_differences(entries, base, mode, columns))
    tables += [_spent(entries, base, columns), *_configurations(entries)]
    tables = [table for table in tables if len(table.rows) > 1]
    return Report(entries, tables, _notes(entries, columns), base, columns)


async def _cards(run: Run) -> dict[Mode, Scorecard]:
    kept = {mode: card for mode in MODES if (card := read_scorecard(run, mode)) is not None}
    return kept or {"corrected": await scored(run, None, mode="corrected")}


def _costs(results: Iterable[Result]) -> list[Scores]:
    rows: list[Scores] = []
    for result in results:
        if result.answer is not None:
            usage = result.answer.usage.model_dump() | {"passages_met": len(result.retrieved or ())}
            rows.append({name: float(usage[name]) for name in COSTS})
    return rows


def _names(runs: Sequence[Run]) -> list[str]:
    names = [run.name for run in runs]
    return [
        name if names.count(name) == 1 else str(run.path)
        for name, run in zip(names, runs, strict=True)
    ]


def _overview(entries: Sequence[Entry]) -> Table:
    rows = [["#", "run", "method", "data", "answers", "not found", "errors", "entailment"]]
    for entry in entries:
        results = entry.run.results
        answers = [result for result in results if result.error is None]
        not_found = sum(r.answer is not None and r.answer.status == "not_found" for r in answers)
        manifest = entry.run.manifest
        rows.append(
            [
                str(entry.number),
                entry.name,
                entry.run.method or "–",
                (manifest and Path(manifest.data.name).name) or "–",
                str(len(answers)),
                str(not_found) if any(r.answer is not None for r in answers) else "–",
                str(len(results) - len(answers)),
                _judged(entry),
            ]
        )
    return Table("Runs", rows)


def _judged(entry: Entry) -> str:
    """What decided on entailment; by mode where they differ."""
    told = {
        mode: "–" if (own := card.entailment) is None else f"{own.name} (from {own.threshold:g})"
        for mode, card in entry.cards.items()
    }
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    return "; ".join(f"{mode}: {judge}" for mode, judge in told.items())


def _quality(entries: Sequence[Entry], mode: Mode, columns: Collection[str]) -> Table:
    cards = {e.number: e.cards[mode] for e in entries if mode in e.cards}
    names = _present([card.metrics for card in cards.values()], columns)
    whole = "mauve" in columns and any(card.mauve is not None for card in cards.values())
    rows = [["#", "run", "n", *map(words, names), *(["MAUVE"] if whole else [])]]
    if len(rows[0]) == 3:
        return Table("", [])
    for entry in entries:
        if (card := cards.get(entry.number)) is None:
            continue
        n = len(card.examples)
        cells = [_shown(card.metrics.get(name), n) for name in names]
        if whole:
            cells.append("–" if card.mauve is None else f"{card.mauve:.3f}")
        rows.append([str(entry.number), entry.name, str(n), *cells])
    notes = ["Mean and 95% bootstrap interval over answers; (n) where a metric applies to fewer."]
    notes += dict.fromkeys(told for card in cards.values() for told in card.caveats)
    judges = {card.entailment for card in cards.values() if card.entailment is not None}
    if len(judges) > 1:
        notes.append(
            "These runs were scored with different entailment models or thresholds: their "
            "citation metrics cannot be compared with each other."
        )
    return Table(f"Quality, {mode}", rows, notes)


def _differences(
    entries: Sequence[Entry], base: Entry, mode: Mode, columns: Collection[str]
) -> Table:
    others = [e for e in entries if e is not base and mode in e.cards]
    title = f"Differences to {base.name}, {mode}"
    if mode not in base.cards:
        return Table(title, [])
    rows: list[list[str]] = []
    shared = {e.number: _shared(e, base, mode) for e in others}
    found = {e.number: _paired(e.cards[mode].examples, shared[e.number], columns) for e in others}
    names = _present(list(found.values()), columns)
    for entry in others:
        own = found[entry.number]
        n = len(shared[entry.number])
        if not n:
            raise InputError(
                f"{entry.name} and {base.name} share no example",
                why="a difference is taken example by example",
                fix="Compare runs over the same data.",
            )
        cells = [_shown(own.get(name), n, sign=True) for name in names]
        rows.append([str(entry.number), entry.name, str(n), *cells])
    note = "Paired differences on shared examples, with 95% bootstrap intervals."
    if not names:
        return Table(title, [])
    return Table(title, [["#", "run", "n", *map(words, names)], *rows], [note])


def _shared(entry: Entry, base: Entry, mode: Mode) -> dict[str, Scores]:
    """The base's scores of the questions that both have; an id may be a mere place in a file."""
    asked = {example.id: example.question for example in entry.run.examples}
    own, there = entry.cards[mode].examples, base.cards[mode].examples
    return {
        example.id: there[example.id]
        for example in base.run.examples
        if example.id in own and example.id in there and asked[example.id] == example.question
    }


def _paired(
    here: Mapping[str, Scores], there: Mapping[str, Scores], columns: Collection[str]
) -> dict[str, Estimate]:
    """By how much each metric is higher here, over the examples that both have."""
    shared = [key for key in here if key in there]
    mine, theirs = ([rows[key] for key in shared] for rows in (here, there))
    found = {name: estimate(mine, name, theirs) for name in METRICS if name in columns}
    return {name: value for name, value in found.items() if value is not None}


def _spent(entries: Sequence[Entry], base: Entry | None, columns: Collection[str]) -> Table:
    names = [name for name in COSTS if name in columns]
    rows = [["#", "run", *map(words, names)]]
    if not names:
        return Table("Cost", [])
    for entry in entries:
        if not entry.costs:  # a file of ALCE's runner does not tell
            continue
        cells = []
        for name in names:
            own = entry.costs[name]
            cell = _shown(own, own.n)
            if base is not None and base.costs and base.costs[name].value > 0:
                cell += f" ({own.value / base.costs[name].value:.2f}×)"
            cells.append(cell)
        rows.append([str(entry.number), entry.name, *cells])
    note = "Per question: mean and 95% bootstrap interval."
    if base is not None:
        note += f" In brackets how many times as much as {base.name}."
    return Table("Cost", rows, [note])


def _configurations(entries: Sequence[Entry]) -> list[Table]:
    known = [entry for entry in entries if entry.run.manifest is not None]
    trees = [
        dict(leaves(entry.run.manifest.model_dump(mode="json", exclude={"sittings", "totals"})))
        for entry in known
        if entry.run.manifest is not None
    ]
    keys = [
        key
        for key in dict.fromkeys(key for tree in trees for key in tree)
        if any(tree.get(key) != trees[0].get(key) for tree in trees)
    ]
    if not keys:
        return []
    rows = [["what", *(f"{entry.number} {entry.name}" for entry in known)]]
    rows += [[key, *(_value(tree.get(key)) for tree in trees)] for key in keys]
    return [Table("Where they differ", rows)]


def _notes(entries: Sequence[Entry], columns: tuple[str, ...]) -> list[str]:
    cards = [card for entry in entries for card in entry.cards.values()]
    shown = _present([card.metrics for card in cards], columns)
    notes = [_MODES, *(f"{words(name)}: {METRICS[name]}." for name in shown)]
    told = {*shown, *(name for entry in entries for name in entry.costs)}
    if any(card.mauve is not None for card in cards):
        told.add("mauve")
        notes += [f"MAUVE: {MAUVE}."] if "mauve" in columns else []
    if columns != COLUMNS:
        notes += [f"No run has {words(name)}." for name in columns if name not in told]
    if failed := sum(result.error is not None for e in entries for result in e.run.results):
        notes.append(f"{count(failed, 'example')} ended in an error and is left out of all means.")
    for entry in entries:
        manifest = entry.run.manifest
        if manifest is not None and manifest.totals.waiting:
            waiting = count(manifest.totals.waiting, "example")
            notes.append(f"{entry.name} is not finished: {waiting} to go.")
        if manifest is not None and manifest.totals.nothing_new:
            known = count(manifest.totals.nothing_new, "question")
            notes.append(
                f"{entry.name}: {known} of {manifest.data.examples} brought no more documents than "
                "the method meets at first, so that its own searches could find nothing new."
            )
    return notes


def _present(metrics: Sequence[Mapping[str, Any]], columns: Collection[str]) -> list[str]:
    return [name for name in METRICS if name in columns and any(name in own for own in metrics)]


def words(metric: str) -> str:
    """A metric or cost for people: `citation F1`."""
    text = metric.replace("_", " ")
    return re.sub(r"\b(?:f1|em|llm|nli|dr|mauve)\b", lambda short: short[0].upper(), text)


def shown(value: Estimate, *, sign: bool = False) -> tuple[str, str]:
    """A value and its interval, as people read them: `0.621` and `[0.580, 0.662]`."""
    large = max(abs(value.value), abs(value.low), abs(value.high)) > 1
    form = f"{'+' if sign else ''},.{1 if large else 3}f"
    return f"{value.value:{form}}", f"[{value.low:{form}}, {value.high:{form}}]"


def _shown(value: Estimate | None, n: int, *, sign: bool = False) -> str:
    if value is None:
        return "–"
    text = " ".join(shown(value, sign=sign))
    return text if value.n == n else f"{text} ({value.n})"


def _value(value: object) -> str:
    text = "–" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:16]}…"
