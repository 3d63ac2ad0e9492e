"""Runs as a report compares them: each with its scores and its costs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citeproof.evaluation.examples import Mode, Scores, Task
from citeproof.evaluation.results import Result
from citeproof.evaluation.runs import Run, open_run
from citeproof.evaluation.scorecard import Scorecard, make_scorecard, read_scorecard
from citeproof.evaluation.scoring import MAUVE, METRICS
from citeproof.evaluation.statistics import Estimate, estimate_all

MODES: tuple[Mode, ...] = ("corrected", "strict")
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
"""Costs of an answer: the fields of its usage, and how many passages the method met."""
OF_RUNS: dict[str, str] = {
    "mauve": MAUVE,
    "average": (
        "mean of correctness, citation recall, citation precision and MAUVE, as in CaLM's tables; "
        "for QAMPARI of precision and recall-5 of lists and of both of citations"
    ),
}
"""Values of whole runs, which single answers do not have → explanation, in one line."""
COLUMNS = (*METRICS, *OF_RUNS, *COSTS)
"""All that a report may tell of runs."""
_AVERAGED: dict[Task, tuple[str, ...]] = {
    "asqa": ("em_recall", "mauve"),
    "eli5": ("claim_recall", "mauve"),
    "qampari": ("qampari_precision", "qampari_recall_5"),
}
"""Task → the metrics in CaLM's average, beside citation recall and precision."""


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

    def whole(self, mode: Mode) -> dict[str, float]:
        """The values of `OF_RUNS` that the run has."""
        card = self.cards[mode]
        known = {name: own.value for name, own in card.metrics.items()}
        found = {} if card.mauve is None else {"mauve": card.mauve}
        names = ("citation_recall", "citation_precision", *_AVERAGED.get(self.task or "qa", ()))
        if len(names) == 4 and all(name in known | found for name in names):
            found["average"] = sum((known | found)[name] for name in names) / len(names)
        return found

    @property
    def task(self) -> Task | None:
        """That of its questions; None where they are of several."""
        [task, *others] = {example.task for example in self.run.examples}
        return None if others else task


async def read_entries(paths: Sequence[Path]) -> list[Entry]:
    """Runs by the scores that were kept for them, else by metrics that need no entailment model.

    Raises:
        InputError: A run cannot be read.
    """
    runs = [open_run(path) for path in paths]
    return [
        Entry(number, name, run, await _cards(run), estimate_all(_costs(run.results)))
        for number, (name, run) in enumerate(zip(_names(runs), runs, strict=True), start=1)
    ]


def present(
    entries: Iterable[Mapping[str, Any]], columns: Collection[str], known: Iterable[str] = METRICS
) -> list[str]:
    """Of the metrics among the columns those that one of these has."""
    found = list(entries)
    return [name for name in known if name in columns and any(name in own for own in found)]


async def _cards(run: Run) -> dict[Mode, Scorecard]:
    kept = {mode: card for mode in MODES if (card := read_scorecard(run, mode)) is not None}
    return kept or {"corrected": await make_scorecard(run, None, mode="corrected")}


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
