"""Measures how good a verifier is on labelled pairs: any verifier that the settings can name.

    python benchmarks/verifiers.py --pairs PAIRS.jsonl:300 --pairs … --out SCORES.jsonl
        [--set entailment.model=factcg] [--table TABLE.md]
    python benchmarks/verifiers.py --aggrefact test --out SCORES.jsonl

Pairs are JSON lines with `premise`, `hypothesis` and `label` (entailment, neutral, contradiction,
or entailed, not_entailed). Lines with the same `group` are chunks of one document; the best score
counts. `--aggrefact` fetches LLM-AggreFact (Tang et al. 2024) from the Hugging Face hub.

Scores are saved as they come, in SCORES.sqlite, which can hold those of several verifiers: repeat
the command to continue after an interruption. At the end SCORES.jsonl has them with their labels.

The best threshold is found on the same pairs that it is measured on: read it as an upper bound.
Never tune on LLM-AggreFact or another set that is kept for testing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import common
from rich.console import Console
from rich.progress import track

from citeproof.console.arguments import read_arguments
from citeproof.console.verifier import open_verifier
from citeproof.tools.entailment import Entailment, Pair
from citeproof.tools.entailment.cache import CachedEntailment
from training import measure
from training.rows import Row, sample

AGGREFACT = "lytang/LLM-AggreFact"
BATCH = 64
"""Pairs scored between two writes; an interruption loses at most this many."""
HEAD = (
    *("set", "claims", "entailed", "proved", "false proofs", "balanced accuracy"),
    *("at the best threshold", "area", "calibration error", "pairs/s"),
)
Sets = Mapping[str, Sequence[Row]]
"""Name → pairs."""


class Timed:
    """A model that counts the pairs it is asked for, and the seconds that they take."""

    def __init__(self, model: Entailment) -> None:
        self._model, self.name, self.threshold = model, model.name, model.threshold
        self._is_loaded = False
        self.pairs, self.seconds = 0, 0.0

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The model's scores."""
        if not self._is_loaded:
            await self._model.scores([Pair("Warm.", "Warm.")])  # loading does not count as speed
            self._is_loaded = True
        begun = time.perf_counter()
        found = await self._model.scores(pairs)
        self.seconds += time.perf_counter() - begun
        self.pairs += len(pairs)
        return found


class Scored(NamedTuple):
    """The scores of a set's rows, and the speed of those that no earlier run has saved."""

    scores: list[float]
    speed: float
    """Pairs a second; NaN if all scores were saved before."""


async def score(model: Entailment, sets: Sets, kept: Path) -> dict[str, Scored]:
    """Score all sets, in batches that are saved immediately."""
    found: dict[str, Scored] = {}
    for name, rows in sets.items():
        timed = Timed(model)
        cached = CachedEntailment(timed, file=kept)
        pairs = [Pair(row.premise, row.hypothesis) for row in rows]
        # By length for even batches; the longest first, so that a lack of memory shows at once.
        distinct = sorted(dict.fromkeys(pairs), key=lambda pair: len(pair.premise), reverse=True)
        known: dict[Pair, float] = {}
        for begin in track(range(0, len(distinct), BATCH), name, console=Console(stderr=True)):
            batch = distinct[begin : begin + BATCH]
            known |= zip(batch, await cached.scores(batch), strict=True)
        speed = timed.pairs / timed.seconds if timed.seconds else math.nan
        found[name] = Scored([known[pair] for pair in pairs], speed)
    return found


def write(path: Path, verifier: str, sets: Sets, found: Mapping[str, Scored]) -> None:
    """Write scores and labels as JSON lines, without the texts."""
    with path.open("w", encoding="utf-8") as file:
        for name, rows in sets.items():
            for row, own in zip(rows, found[name].scores, strict=True):
                line: dict[str, object] = {"verifier": verifier, "set": name, "source": row.source}
                line |= {"group": row.group, "entailed": row.entailed, "score": own}
                file.write(json.dumps(line) + "\n")


def table(sets: Sets, scored: Mapping[str, Scored], threshold: float) -> list[str]:
    """A Markdown table with a row for each set, and one for their means."""
    found, lines = [], []
    for name, rows in sets.items():
        values, truths = measure.by_group(rows, scored[name].scores)
        quality = measure.quality(values, truths, threshold)
        shares = [quality.false_proofs, quality.balanced, quality.best, quality.area]
        found.append([*shares, quality.error, scored[name].speed])
        cells = _shown(found[-1])
        cells[2] += f" ({quality.best_threshold:.2f})"
        lines.append([name, quality.pairs, sum(truths), quality.proved, *cells])
    if len(found) > 1:
        known = [[n for n in column if math.isfinite(n)] for column in zip(*found, strict=True)]
        means = _shown([fmean(column) if column else math.nan for column in known])
        lines.append(["**mean**", "", "", "", *means])
    return common.table(HEAD, lines)


def _shown(numbers: Sequence[float]) -> list[str]:
    """Numbers as text: shares with three digits, the last, a speed, with one."""
    shown = [*(f"{n:.3f}" for n in numbers[:-1]), f"{numbers[-1]:.1f}"]
    return [text if math.isfinite(n) else "–" for n, text in zip(numbers, shown, strict=True)]


def aggrefact(split: str, count: int | None) -> dict[str, list[Row]]:
    """The first rows of each data set of LLM-AggreFact, whose terms must be accepted on the hub."""
    from datasets import load_dataset

    sets: dict[str, list[Row]] = {}
    for row in load_dataset(AGGREFACT, split=split):
        kept = sets.setdefault(str(row["dataset"]), [])
        if count is None or len(kept) < count:
            label = "entailed" if row["label"] == 1 else "not_entailed"
            kept.append(Row(row["doc"], row["claim"], label, str(row["dataset"])))
    return sets


def main() -> None:
    """Score what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pairs", action="append", default=[], help="FILE or FILE:COUNT")
    parser.add_argument("--aggrefact", choices=["dev", "test"], help="a split of LLM-AggreFact")
    parser.add_argument("--count", type=int, help="most rows of each set of LLM-AggreFact")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--config", type=Path, help="a settings file")
    parser.add_argument("--out", type=Path, required=True, help="file for the scores, JSON lines")
    parser.add_argument("--table", type=Path, help="also write the table to this file")
    given = parser.parse_args()
    settings, others = read_arguments(given.config, given.set)
    try:
        drawn = [sample(entry) for entry in given.pairs]
    except (OSError, ValueError) as error:
        parser.error(str(error))
    sets = dict(drawn)
    if len(sets) < len(drawn):
        parser.error("two files of pairs have the same name, which names their rows in the table")
    if given.aggrefact:
        sets |= aggrefact(given.aggrefact, given.count)
    if others or not sets:
        parser.error(f"no setting: {', '.join(others)}" if others else "no pairs are named")
    given.out.parent.mkdir(parents=True, exist_ok=True)
    kept = given.out.with_suffix(".sqlite")
    with open_verifier(settings, Console(stderr=True)) as entailment:
        found = asyncio.run(score(entailment, sets, kept))
        write(given.out, entailment.name, sets, found)
        told = f"`{entailment.name}`, threshold {entailment.threshold:.3g}"
        common.write(given.table, [told, "", *table(sets, found, entailment.threshold)])


if __name__ == "__main__":
    main()
