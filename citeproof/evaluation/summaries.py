"""Means over runs: of one configuration by chance alone, and over data sets, as in papers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from citeproof.evaluation.entries import OF_RUNS, Entry, present
from citeproof.evaluation.examples import Mode, Task
from citeproof.evaluation.manifest import find_changes
from citeproof.evaluation.report_tables import Table
from citeproof.evaluation.statistics import format_estimate, mean_of_runs, name_metric, spread

_CHANCE = re.compile(r"(?:^|\.)(?:seed|temperature|namespace)$")
"""In what runs of one configuration may differ."""
_CORRECT: dict[Task, str] = {
    "asqa": "em_recall",
    "eli5": "claim_recall",
    "qa": "em_recall",
    "qampari": "qampari_f1_5",
}
"""Task → the metric that stands for correctness in an overall mean."""


def summarize_repeats(
    entries: Sequence[Entry], mode: Mode, columns: Collection[str]
) -> Iterator[Table]:
    """Means over the runs that differ in seed, temperature or namespace alone, if there are any."""
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
    if groups:
        yield Table(f"Means over runs, {mode}", rows, [note])


def overall(entries: Sequence[Entry], mode: Mode) -> Table:
    """Means over data sets, for each method and model that was run once on each of several."""
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
            correct = [_value(group, mode, _CORRECT[group[0].task or "qa"]) for group in groups]
            cited = [_value(group, mode, "citation_f1") for group in groups]
            cells = [_over_sets(correct), _over_sets(cited)]
            rows.append([method, model, str(len(sets)), numbers, *cells])
    note = (
        "Overall, as in the tables of VTG and LLatrieval: the mean over data sets. Correctness is "
        "EM recall for ASQA and short answers, claim recall for ELI5, and F1-5 for QAMPARI."
    )
    return Table(f"Overall, {mode}", rows, [note])


def _groups(entries: Sequence[Entry], mode: Mode) -> list[list[Entry]]:
    """The runs that were scored so, those of one configuration and one judge together."""
    groups: list[list[Entry]] = []
    for entry in entries:
        if mode in entry.cards and entry.run.manifest is not None:
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


def _mean(runs: Sequence[Sequence[dict[str, float | None]]], metric: str) -> str:
    found = mean_of_runs(runs, metric)
    if found is None:
        return "–"
    mean, deviation = found
    value, interval = format_estimate(mean)
    return f"{value} ± {deviation:.{1 if mean.value > 1 else 3}f} {interval}"


def _of_runs(wholes: Sequence[dict[str, float]], name: str) -> str:
    values = [own[name] for own in wholes if name in own]
    if len(values) < len(wholes):
        return "–"
    return f"{sum(values) / len(values):.3f} ± {spread(values):.3f}"


def _value(group: Sequence[Entry], mode: Mode, metric: str) -> float | None:
    values = [own.value for e in group if (own := e.cards[mode].metrics.get(metric)) is not None]
    return sum(values) / len(values) if len(values) == len(group) else None


def _over_sets(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):.3f}" if len(known) == len(values) else "–"
