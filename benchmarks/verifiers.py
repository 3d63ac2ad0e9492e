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
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from citeproof.console.arguments import read_arguments
from citeproof.console.verifier import open_verifier
from citeproof.errors import CiteproofError, InputError, MissingExtraError
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


async def score(model: Entailment, sets: Sets, kept: Path, bar: Progress) -> dict[str, Scored]:
    """Score all sets, in batches that are saved immediately.

    Raises:
        ModelError: The model is not available, or does not answer.
        StoreError: The file of saved scores cannot be used.
    """
    found: dict[str, Scored] = {}
    for name, rows in sets.items():
        timed = Timed(model)
        cached = CachedEntailment(timed, file=kept)
        pairs = [Pair(row.premise, row.hypothesis) for row in rows]
        # By length for even batches; the longest first, so that a lack of memory shows at once.
        distinct = sorted(dict.fromkeys(pairs), key=lambda pair: len(pair.premise), reverse=True)
        task = bar.add_task(name, total=len(distinct))
        known: dict[Pair, float] = {}
        for begin in range(0, len(distinct), BATCH):
            batch = distinct[begin : begin + BATCH]
            known |= zip(batch, await cached.scores(batch), strict=True)
            bar.advance(task, len(batch))
        speed = timed.pairs / timed.seconds if timed.seconds else math.nan
        found[name] = Scored([known[pair] for pair in pairs], speed)
    return found


def write(path: Path, verifier: str, sets: Sets, found: Mapping[str, Scored]) -> None:
    """Write scores and labels as JSON lines, without the texts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for name, rows in sets.items():
            for row, own in zip(rows, found[name].scores, strict=True):
                line: dict[str, Any] = {"verifier": verifier, "set": name, "source": row.source}
                line |= {"group": row.group, "entailed": row.entailed, "score": own}
                file.write(json.dumps(line) + "\n")


def table(sets: Sets, scored: Mapping[str, Scored], threshold: float) -> str:
    """A Markdown table with a row for each set, and one for their means."""
    found: list[list[float]] = []
    lines = [_line(HEAD), _line(["---"] * len(HEAD))]
    for name, rows in sets.items():
        values, truths = measure.by_group(rows, scored[name].scores)
        quality = measure.quality(values, truths, threshold)
        numbers = [quality.false_proofs, quality.balanced, quality.best, quality.area]
        numbers += [quality.error, scored[name].speed]
        found.append(numbers)
        counts = [str(quality.pairs), str(sum(truths)), str(quality.proved)]
        lines.append(_line([name, *counts, *_shown(numbers, f" ({quality.best_threshold:.2f})")]))
    if len(found) > 1:
        means = [_mean(column) for column in zip(*found, strict=True)]
        lines.append(_line(["**mean**", "", "", "", *_shown(means, "")]))
    return "\n".join(lines)


def aggrefact(split: str, count: int | None) -> dict[str, list[Row]]:
    """LLM-AggreFact, by data set.

    Args:
        split: `dev` or `test`.
        count: Number of rows of each data set, from its start; by default all.

    Raises:
        MissingExtraError: The library `datasets` is not installed.
        InputError: The hub cannot be reached, or refuses the set.
    """
    with MissingExtraError.unless_installed("datasets", "LLM-AggreFact cannot be read"):
        from datasets import load_dataset
    try:
        rows = load_dataset(AGGREFACT, split=split)
    except Exception as error:  # the library lets errors of its dependencies through
        raise InputError(
            "LLM-AggreFact cannot be fetched",
            why=f"{AGGREFACT}: {(str(error).splitlines() or [type(error).__name__])[0]}",
            fix="Accept its terms on the Hugging Face hub, log in with `hf auth login`, and try "
            "again with access to the hub, or name files with --pairs.",
        ) from error
    sets: dict[str, list[Row]] = {}
    for row in rows:
        kept = sets.setdefault(str(row["dataset"]), [])
        if count is None or len(kept) < count:
            label = "entailed" if row["label"] == 1 else "not_entailed"
            kept.append(Row(row["doc"], row["claim"], label, str(row["dataset"])))
    return sets


def read(entries: Iterable[str]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the set of each file of pairs, named by the file's stem.

    Raises:
        InputError: A file cannot be read, or a line is not a pair.
    """
    for entry in entries:
        try:
            name, rows = sample(entry)
        except (OSError, ValueError) as error:
            raise InputError(
                f"{entry} cannot be read",
                why=str(error),
                fix="Name a file of labelled pairs as JSON lines, or FILE:COUNT for a part of it.",
            ) from error
        if not rows:
            raise InputError(f"{entry} holds no pairs", fix="Name another file.")
        yield name, rows


def run(arguments: argparse.Namespace, out: Console, err: Console) -> None:
    """Score what is missing, and print the table."""
    settings, others = read_arguments(arguments.config, arguments.set)
    if others:
        raise InputError(
            f"There is no setting {next(iter(others))}",
            fix="Write --set entailment.model=NAME.",
        )
    sets = dict(read(arguments.pairs))
    if arguments.aggrefact:
        sets |= aggrefact(arguments.aggrefact, arguments.count)
    if not sets:
        raise InputError("No pairs are named", fix="Name them with --pairs or --aggrefact.")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with open_verifier(settings, err) as entailment:
        with Progress(*columns, TimeRemainingColumn(), console=err) as bar:
            kept = arguments.out.with_suffix(".sqlite")
            found = asyncio.run(score(entailment, sets, kept, bar))
        write(arguments.out, entailment.name, sets, found)
        told = f"`{entailment.name}`, threshold {entailment.threshold:.3g}"
        text = f"{told}\n\n{table(sets, found, entailment.threshold)}"
    out.print(text, markup=False, soft_wrap=True, highlight=False)
    if arguments.table is not None:
        arguments.table.write_text(f"{text}\n", encoding="utf-8")


def main() -> None:
    """Run the benchmark, and report an error in one line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pairs", action="append", default=[], help="FILE or FILE:COUNT")
    parser.add_argument("--aggrefact", choices=["dev", "test"], help="a split of LLM-AggreFact")
    parser.add_argument("--count", type=int, help="most rows of each set of LLM-AggreFact")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--config", type=Path, help="a settings file")
    parser.add_argument("--out", type=Path, required=True, help="file for the scores, JSON lines")
    parser.add_argument("--table", type=Path, help="also write the table to this file")
    err = Console(stderr=True)
    try:
        run(parser.parse_args(), Console(), err)
    except CiteproofError as error:
        err.print(f"{error}", style="red", markup=False, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        err.print("Interrupted. Repeat the command to continue where it stopped.")
        sys.exit(130)


def _shown(numbers: Sequence[float], best: str) -> list[str]:
    """Numbers as text: shares with three digits, the last, a speed, with one."""
    shown = [f"{n:.3f}" if math.isfinite(n) else "–" for n in numbers[:-1]]
    shown[2] += best
    speed = numbers[-1]
    return [*shown, f"{speed:.1f}" if math.isfinite(speed) else "–"]


def _mean(column: Sequence[Any]) -> float:
    known = [value for value in column if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
