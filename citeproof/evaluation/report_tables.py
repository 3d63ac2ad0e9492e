"""The tables of a report, including means over runs that differ by chance and over data sets."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from citeproof.errors import InputError
from citeproof.evaluation.entries import COLUMNS, COSTS, MODES, OF_RUNS, Entry, present
from citeproof.evaluation.examples import Mode, Scores, Task
from citeproof.evaluation.manifest import find_changes, flatten
from citeproof.evaluation.scoring import METRICS
from citeproof.evaluation.statistics import (
    Estimate,
    estimate,
    format_cell,
    format_estimate,
    mean_of_runs,
    name_metric,
    spread,
)
from citeproof.text import count

_MODES = (
    "Two ways of counting: strict reproduces ALCE's released evaluator, corrected (the default) "
    "counts without its slips."
)
_CHANCE = re.compile(r"(?:^|\.)(?:seed|temperature|namespace)$")
"""Fields in which runs of one configuration may differ."""
_JUDGED = ("citation_recall", "citation_precision", "citation_f1", "wrongly_proved", "claim_recall")
"""Metrics whose values depend on the entailment model that judged."""
_CORRECT: dict[Task, str] = {
    "asqa": "em_recall",
    "eli5": "claim_recall",
    "qa": "em_recall",
    "qampari": "qampari_f1_5",
}
"""Task → the metric used as correctness in an overall mean."""


@dataclass(frozen=True)
class Table:
    """Cells for people; the first row is the header."""

    title: str
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)


def all_tables(
    entries: Sequence[Entry], base: Entry | None, columns: Collection[str]
) -> list[Table]:
    """Return the tables of a report that are not empty."""
    tables = [overview(entries)]
    for mode in MODES:
        if scored := [entry for entry in entries if mode in entry.cards]:
            tables += [quality(scored, mode, columns), repeats(scored, mode, columns)]
            if base is not None and mode in base.cards:
                tables.append(differences(scored, base, mode, columns))
            tables.append(overall(scored, mode))
    tables += [spent(entries, base, columns), configurations(entries)]
    return [table for table in tables if len(table.rows) > 1]


def overview(entries: Sequence[Entry]) -> Table:
    """Return a table of the runs and their judges."""
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
                _judges(entry),
            ]
        )
    return Table("Runs", rows)


def _judges(entry: Entry) -> str:
    """Return the entailment models that judged, by mode if they differ."""
    told = {}
    for mode, card in entry.cards.items():
        judge = card.entailment
        told[mode] = "–" if judge is None else f"{judge.name} (from {judge.threshold:g})"
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    return "; ".join(f"{mode}: {judge}" for mode, judge in told.items())


def quality(entries: Sequence[Entry], mode: Mode, columns: Collection[str]) -> Table:
    """Return a table of the metrics of runs that were scored in a mode."""
    cards = [entry.cards[mode] for entry in entries]
    wholes = [entry.whole(mode) for entry in entries]
    names = present([card.metrics for card in cards], columns)
    more = present(wholes, columns, OF_RUNS)
    rows = [["#", "run", "n", *map(name_metric, [*names, *more])]]
    for entry, card, whole in zip(entries, cards, wholes, strict=True):
        n = len(card.examples)
        cells = [format_cell(card.metrics.get(name), n) for name in names]
        cells += [f"{whole[name]:.3f}" if name in whole else "–" for name in more]
        rows.append([str(entry.number), entry.name, str(n), *cells])
    notes = ["Mean and 95% bootstrap interval over answers; (n) if a metric applies to fewer."]
    notes += dict.fromkeys(told for card in cards for told in card.caveats)
    if len({card.way for card in cards if card.entailment is not None}) > 1:
        notes.append(
            "These runs were scored with different entailment models, thresholds or numbers of "
            "citations: their citation metrics and claim recall cannot be compared with each other."
        )
    return Table(f"Quality, {mode}", rows if names or more else [], notes)


def differences(
    entries: Sequence[Entry], base: Entry, mode: Mode, columns: Collection[str]
) -> Table:
    """Return a table of the differences between the other runs and the base."""
    found: list[tuple[Entry, int, dict[str, Estimate]]] = []
    for entry in entries:
        if entry is base:
            continue
        theirs = _common_scores(entry, base, mode)
        if not theirs:
            raise InputError(
                f"{entry.name} and {base.name} share no example",
                why="differences are computed per example",
                fix="Compare runs on the same data.",
            )
        mine = {key: row for key, row in entry.cards[mode].examples.items() if key in theirs}
        here, there = [*mine.values()], [theirs[key] for key in mine]
        alike = entry.cards[mode].way == base.cards[mode].way
        compared = [name for name in METRICS if name in columns and (alike or name not in _JUDGED)]
        own = {name: estimate(here, name, there) for name in compared}
        known = {name: value for name, value in own.items() if value is not None}
        found.append((entry, len(mine), known))
    names = present([above for *_, above in found], columns)
    rows = [["#", "run", "n", *map(name_metric, names)]]
    for entry, n, above in found:
        cells = [format_cell(above.get(name), n, sign=True) for name in names]
        rows.append([str(entry.number), entry.name, str(n), *cells])
    note = (
        "Paired differences on shared examples, with 95% bootstrap intervals. What an entailment "
        "model judges is left out where the runs were judged in different ways."
    )
    return Table(f"Differences to {base.name}, {mode}", rows if names else [], [note])


def _common_scores(entry: Entry, base: Entry, mode: Mode) -> dict[str, Scores]:
    """Return the base's scores of questions that both have with the same id and text."""
    asked = {example.id: example.question for example in entry.run.examples}
    own, there = entry.cards[mode].examples, base.cards[mode].examples
    return {
        example.id: there[example.id]
        for example in base.run.examples
        if example.id in own and example.id in there and asked[example.id] == example.question
    }


def spent(entries: Sequence[Entry], base: Entry | None, columns: Collection[str]) -> Table:
    """Return a table of the costs of an answer."""
    names = [name for name in COSTS if name in columns]
    rows = [["#", "run", *map(name_metric, names)]]
    for entry in entries:
        if not entry.costs:  # files of ALCE's runner have no costs
            continue
        cells = []
        for name in names:
            own = entry.costs[name]
            text = format_cell(own, own.n)
            if base is not None and base.costs and base.costs[name].value > 0:
                text += f" ({own.value / base.costs[name].value:.2f}×)"
            if name == "cached_tokens" and (read := entry.costs["prompt_tokens"].value):
                text += f", {own.value / read:.0%} of the prompt"
            cells.append(text)
        rows.append([str(entry.number), entry.name, *cells])
    note = "Per question: mean and 95% bootstrap interval."
    if base is not None:
        note += f" In brackets: the ratio to {base.name}."
    return Table("Cost", rows if names else [], [note])


def configurations(entries: Sequence[Entry]) -> Table:
    """Return a table of the differences between manifests."""
    trees = {
        f"{entry.number} {entry.name}": flatten(entry.run.manifest)
        for entry in entries
        if entry.run.manifest is not None
    }
    rows = [["what", *trees]]
    for key in dict.fromkeys(key for tree in trees.values() for key in tree):
        values = [tree.get(key) for tree in trees.values()]
        if any(value != values[0] for value in values):
            rows.append([key, *map(_shorten, values)])
    return Table("Where they differ", rows)


def notes(entries: Sequence[Entry], base: Entry | None, columns: tuple[str, ...]) -> list[str]:
    """Return notes that a reader needs, and explanations of the metrics."""
    cards = [card for entry in entries for card in entry.cards.values()]
    shown = present([card.metrics for card in cards], columns)
    wholes = present([e.whole(mode) for e in entries for mode in e.cards], columns, OF_RUNS)
    notes = [_MODES, *(f"{name_metric(name)}: {METRICS[name]}." for name in shown)]
    notes += [f"{name_metric(name)}: {OF_RUNS[name]}." for name in wholes]
    if columns != COLUMNS:
        told = {*shown, *wholes, *(name for entry in entries for name in entry.costs)}
        notes += [f"No run has {name_metric(name)}." for name in columns if name not in told]
    if failed := sum(result.error is not None for e in entries for result in e.run.results):
        are = "is" if failed == 1 else "are"
        notes.append(
            f"{count(failed, 'example')} ended in an error and {are} left out of all means."
        )
    for entry in entries:
        if base is not None and entry.cards.keys().isdisjoint(base.cards):
            both = f"{entry.name} and {base.name}"
            notes.append(f"{both} were scored in different modes, so they have no differences.")
        if (manifest := entry.run.manifest) is None:
            continue
        # Not from the totals, which a killed run did not write.
        if waiting := manifest.data.examples - len(entry.run.examples):
            to_go = count(waiting, "example")
            notes.append(f"{entry.name} is not finished: {to_go} to go.")
        if manifest.totals.nothing_new:
            known = count(manifest.totals.nothing_new, "question")
            notes.append(
                f"{entry.name}: {known} of {manifest.data.examples} brought no more documents than "
                "the method meets at first, so that its own searches could find nothing new."
            )
    return notes


def _shorten(value: object) -> str:
    text = "–" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:16]}…"


def repeats(entries: Sequence[Entry], mode: Mode, columns: Collection[str]) -> Table:
    """Return a table of means over runs that only differ in seed, temperature or namespace."""
    groups = [group for group in _groups(entries, mode) if len(group) > 1]
    cards = [entry.cards[mode] for group in groups for entry in group]
    names = present([card.metrics for card in cards], columns)
    wholes = present([e.whole(mode) for group in groups for e in group], columns, OF_RUNS)
    rows = [["runs", "method", "varied", "n", *map(name_metric, [*names, *wholes])]]
    for group in groups:
        scores = [entry.cards[mode].examples for entry in group]
        shared = [key for key in scores[0] if all(key in own for own in scores)]
        varied = {key for entry in group for key in _differing(group[0], entry)}
        cells = [_mean([[own[key] for key in shared] for own in scores], name) for name in names]
        cells += [_of_runs([entry.whole(mode) for entry in group], name) for name in wholes]
        numbers = ", ".join(str(entry.number) for entry in group)
        told = ", ".join(sorted(varied)) or "–"
        rows.append([numbers, group[0].run.method, told, str(len(shared)), *cells])
    note = (
        "Mean over runs of one configuration ± standard deviation of the runs, with a 95% "
        "bootstrap interval over questions and runs; n: questions that all of them answered."
    )
    return Table(f"Means over runs, {mode}", rows, [note])


def overall(entries: Sequence[Entry], mode: Mode) -> Table:
    """Return a table of means over data sets, for methods and models run once on each of them."""
    found: dict[tuple[str, str], dict[str, list[list[Entry]]]] = {}
    for group in _groups(entries, mode):
        manifest = group[0].run.manifest
        if manifest is not None and group[0].task in _CORRECT:
            model = str(manifest.models.get("llm", {}).get("name", "–"))
            sets = found.setdefault((manifest.method, model), {})
            sets.setdefault(manifest.data.name, []).append(group)
    rows = [["method", "model", "data sets", "runs", "correctness", name_metric("citation_f1")]]
    for (method, model), sets in found.items():
        groups = [group for own in sets.values() for group in own]
        if len(groups) == len(sets) > 1:
            numbers = ", ".join(str(entry.number) for group in groups for entry in group)
            correct = [_CORRECT[group[0].task or "qa"] for group in groups]
            cited = ["citation_f1"] * len(groups)
            cells = [_over_sets(groups, mode, metrics) for metrics in (correct, cited)]
            rows.append([method, model, str(len(sets)), numbers, *cells])
    note = (
        "Overall, as in the tables of VTG and LLatrieval: the mean over data sets. Correctness is "
        "EM recall for ASQA and short answers, claim recall for ELI5, and F1-5 for QAMPARI."
    )
    return Table(f"Overall, {mode}", rows, [note])


def _groups(entries: Sequence[Entry], mode: Mode) -> list[list[Entry]]:
    """Group runs by configuration and judge."""
    groups: list[list[Entry]] = []
    for entry in entries:
        if entry.run.manifest is not None:
            for group in groups:
                alike = entry.cards[mode].way == group[0].cards[mode].way
                if alike and all(map(_CHANCE.search, _differing(group[0], entry))):
                    group.append(entry)
                    break
            else:
                groups.append([entry])
    return groups


def _differing(one: Entry, other: Entry) -> list[str]:
    assert one.run.manifest is not None
    assert other.run.manifest is not None
    return list(find_changes(one.run.manifest, other.run.manifest))


def _mean(runs: Sequence[Sequence[Scores]], metric: str) -> str:
    if (found := mean_of_runs(runs, metric)) is None:
        return "–"
    mean, deviation = found
    value, interval = format_estimate(mean)
    return f"{value} ± {deviation:.{1 if mean.value > 1 else 3}f} {interval}"


def _of_runs(wholes: Sequence[dict[str, float]], name: str) -> str:
    values = [own[name] for own in wholes if name in own]
    if len(values) < len(wholes):
        return "–"
    return f"{fmean(values):.3f} ± {spread(values):.3f}"


def _over_sets(groups: Sequence[Sequence[Entry]], mode: Mode, metrics: Sequence[str]) -> str:
    means = []
    for group, name in zip(groups, metrics, strict=True):
        values = [e.cards[mode].metrics[name].value for e in group if name in e.cards[mode].metrics]
        if len(values) < len(group):
            return "–"
        means.append(fmean(values))
    return f"{fmean(means):.3f}"
