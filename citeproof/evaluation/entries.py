"""Runs as a report compares them, with their scores and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citeproof.evaluation.examples import Mode, Scores, Task
from citeproof.evaluation.results import Result
from citeproof.evaluation.runs import Run, open_run
from citeproof.evaluation.scorecard import Scorecard, make_scorecard, read_scorecard
from citeproof.evaluation.scoring import METRICS
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
"""Costs of an answer: the fields of its usage, and how many passages the method found."""
OF_RUNS: dict[str, str] = {
    "mauve": "how close the answers are, as a set, to those that people wrote, from 0 to 1",
    "average": (
        "mean of correctness, citation recall, citation precision and MAUVE, as in CaLM's tables; "
        "for QAMPARI of precision and recall-5 of lists and of both of citations"
    ),
}
"""Values that only whole runs have, not single answers → a one-line description."""
COLUMNS = (*METRICS, *OF_RUNS, *COSTS)
"""All values that a report may show."""
_AVERAGED: dict[Task, tuple[str, ...]] = {
    "asqa": ("em_recall", "mauve"),
    "eli5": ("claim_recall", "mauve"),
    "qampari": ("qampari_precision", "qampari_recall_5"),
}
"""Task → the metrics in CaLM's average, in addition to citation recall and precision."""


@dataclass(frozen=True)
class Entry:
    """A run in a report."""

    number: int
    """From 1, in the order given."""
    name: str
    run: Run
    cards: dict[Mode, Scorecard]
    """At least one scorecard."""
    costs: dict[str, Estimate]
    """Costs per question; empty if unknown."""

    @property
    def card(self) -> Scorecard:
        """The scores that plots show: the corrected ones, if there are any."""
        return next(self.cards[mode] for mode in MODES if mode in self.cards)

    def whole(self, mode: Mode) -> dict[str, float]:
        """Return the values of `OF_RUNS` that the run has."""
        card = self.cards[mode]
        known = {name: own.value for name, own in card.metrics.items()}
        found = {} if card.mauve is None else {"mauve": card.mauve}
        names = ("citation_recall", "citation_precision", *_AVERAGED.get(self.task or "qa", ()))
        if len(names) == 4 and all(name in known | found for name in names):
            found["average"] = sum((known | found)[name] for name in names) / len(names)
        return found

    @property
    def task(self) -> Task | None:
        """The task of all questions; None if they have different tasks."""
        [task, *others] = {example.task for example in self.run.examples}
        return None if others else task


async def read_entries(paths: Sequence[Path]) -> list[Entry]:
    """Read runs with their saved scores, or with metrics that need no entailment model."""
    runs = [open_run(path) for path in paths]
    alike = Counter(run.name for run in runs)
    entries = []
    for number, run in enumerate(runs, start=1):
        name = run.name if alike[run.name] == 1 else str(run.path)
        costs = estimate_all(_costs(run.results))
        entries.append(Entry(number, name, run, await _cards(run), costs))
    return entries


def present(
    entries: Sequence[Mapping[str, Any]], columns: Collection[str], known: Iterable[str] = METRICS
) -> list[str]:
    """Return the known metrics that are among the columns and that any of the entries has."""
    return [name for name in known if name in columns and any(name in own for own in entries)]


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
