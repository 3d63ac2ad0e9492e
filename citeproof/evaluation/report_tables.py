"""The tables of a report."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from citeproof.errors import InputError
from citeproof.evaluation.entries import COLUMNS, COSTS, OF_RUNS, Entry, present
from citeproof.evaluation.examples import Mode, Scores
from citeproof.evaluation.manifest import flatten
from citeproof.evaluation.scoring import METRICS
from citeproof.evaluation.statistics import Estimate, estimate, format_cell, name_metric
from citeproof.text import count

_MODES = (
    "Two ways of counting: strict reproduces ALCE's released evaluator, corrected (the default) "
    "counts without its slips."
)


@dataclass(frozen=True)
class Table:
    """Cells for people; the first row is the head."""

    title: str
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)


def overview(entries: Sequence[Entry]) -> Table:
    """The runs, and what judged them."""
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
    """The entailment models that judged; by mode where they differ."""
    told = {
        mode: "–" if (own := card.entailment) is None else f"{own.name} (from {own.threshold:g})"
        for mode, card in entry.cards.items()
    }
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    return "; ".join(f"{mode}: {judge}" for mode, judge in told.items())


def quality(entries: Sequence[Entry], mode: Mode, columns: Collection[str]) -> Table:
    """The metrics of runs that were scored in a mode."""
    cards = {e.number: e.cards[mode] for e in entries if mode in e.cards}
    names = present([card.metrics for card in cards.values()], columns)
    wholes = {e.number: e.whole(mode) for e in entries if e.number in cards}
    more = present(wholes.values(), columns, OF_RUNS)
    rows = [["#", "run", "n", *map(name_metric, [*names, *more])]]
    if len(rows[0]) == 3:
        return Table("", [])
    for entry in entries:
        if (card := cards.get(entry.number)) is None:
            continue
        n = len(card.examples)
        cells = [format_cell(card.metrics.get(name), n) for name in names]
        own = wholes[entry.number]
        cells += [f"{own[name]:.3f}" if name in own else "–" for name in more]
        rows.append([str(entry.number), entry.name, str(n), *cells])
    notes = ["Mean and 95% bootstrap interval over answers; (n) where a metric applies to fewer."]
    notes += dict.fromkeys(told for card in cards.values() for told in card.caveats)
    if len({card.way for card in cards.values() if card.entailment is not None}) > 1:
        notes.append(
            "These runs were scored with different entailment models, thresholds or numbers of "
            "citations: their citation metrics cannot be compared with each other."
        )
    return Table(f"Quality, {mode}", rows, notes)


def differences(
    entries: Sequence[Entry], base: Entry, mode: Mode, columns: Collection[str]
) -> Table:
    """By how much the other runs are above or below the base.

    Raises:
        InputError: One of them shares no example with it.
    """
    others = [e for e in entries if e is not base and mode in e.cards]
    title = f"Differences to {base.name}, {mode}"
    if mode not in base.cards:
        return Table(title, [])
    rows: list[list[str]] = []
    shared = {e.number: _common_scores(e, base, mode) for e in others}
    found = {e.number: _pair(e.cards[mode].examples, shared[e.number], columns) for e in others}
    names = present(list(found.values()), columns)
    for entry in others:
        own = found[entry.number]
        n = len(shared[entry.number])
        if not n:
            raise InputError(
                f"{entry.name} and {base.name} share no example",
                why="a difference is taken example by example",
                fix="Compare runs over the same data.",
            )
        cells = [format_cell(own.get(name), n, sign=True) for name in names]
        rows.append([str(entry.number), entry.name, str(n), *cells])
    note = "Paired differences on shared examples, with 95% bootstrap intervals."
    if not names:
        return Table(title, [])
    return Table(title, [["#", "run", "n", *map(name_metric, names)], *rows], [note])


def _common_scores(entry: Entry, base: Entry, mode: Mode) -> dict[str, Scores]:
    """The base's scores of the questions that both have; an id may be a mere place in a file."""
    asked = {example.id: example.question for example in entry.run.examples}
    own, there = entry.cards[mode].examples, base.cards[mode].examples
    return {
        example.id: there[example.id]
        for example in base.run.examples
        if example.id in own and example.id in there and asked[example.id] == example.question
    }


def _pair(
    here: Mapping[str, Scores], there: Mapping[str, Scores], columns: Collection[str]
) -> dict[str, Estimate]:
    """By how much each metric is higher here, over the examples that both have."""
    shared = [key for key in here if key in there]
    mine, theirs = ([rows[key] for key in shared] for rows in (here, there))
    found = {name: estimate(mine, name, theirs) for name in METRICS if name in columns}
    return {name: value for name, value in found.items() if value is not None}


def spent(entries: Sequence[Entry], base: Entry | None, columns: Collection[str]) -> Table:
    """The cost of an answer."""
    names = [name for name in COSTS if name in columns]
    rows = [["#", "run", *map(name_metric, names)]]
    if not names:
        return Table("Cost", [])
    for entry in entries:
        if not entry.costs:  # a file of ALCE's runner does not tell
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
        note += f" In brackets how many times as much as {base.name}."
    return Table("Cost", rows, [note])


def configurations(entries: Sequence[Entry]) -> list[Table]:
    """In what the manifests differ."""
    known = [entry for entry in entries if entry.run.manifest is not None]
    trees = [
        dict(flatten(entry.run.manifest.model_dump(mode="json", exclude={"sittings", "totals"})))
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


def notes(entries: Sequence[Entry], columns: tuple[str, ...]) -> list[str]:
    """Notes that a reader needs, and explanations of the metrics."""
    cards = [card for entry in entries for card in entry.cards.values()]
    shown = present([card.metrics for card in cards], columns)
    notes = [_MODES, *(f"{name_metric(name)}: {METRICS[name]}." for name in shown)]
    told = {*shown, *(name for entry in entries for name in entry.costs)}
    wholes = {name for e in entries for mode in e.cards for name in e.whole(mode)}
    told |= wholes
    notes += [f"{name_metric(n)}: {OF_RUNS[n]}." for n in OF_RUNS if n in columns and n in wholes]
    if columns != COLUMNS:
        notes += [f"No run has {name_metric(name)}." for name in columns if name not in told]
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


def _value(value: object) -> str:
    text = "–" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:16]}…"
