"""How good a verifier is on labelled pairs: any that the settings can name.

    python benchmarks/verifiers.py --pairs PAIRS.jsonl:300 --pairs … --out SCORES.jsonl
        [--set entailment.model=factcg] [--table TABLE.md]
    python benchmarks/verifiers.py --aggrefact test --out SCORES.jsonl

Pairs are JSON lines with `premise`, `hypothesis` and `label` (entailment, neutral, contradiction,
or entailed, not_entailed); of lines with the same `group`, chunks of one document, the best
counts. `--aggrefact` fetches LLM-AggreFact (Tang et al. 2024) from the Hugging Face hub.

Scores are written as they come. The same command again goes on where it was interrupted, and
prints the whole table; one file can hold the scores of several verifiers.

The best threshold is found on the very pairs that it is measured on: read it as a bound. Never
tune on LLM-AggreFact or another set that is kept for testing.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
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

from citeproof.console import arguments as given
from citeproof.console.verifier import open_verifier
from citeproof.errors import CiteproofError, InputError, MissingExtraError
from citeproof.tools.entailment import Entailment, Pair
from training import measure
from training.rows import Row, sample

AGGREFACT = "lytang/LLM-AggreFact"
BATCH = 64
"""Pairs scored between two writes; an interruption loses no more."""
HEAD = (
    *("set", "claims", "entailed", "proved", "false proofs", "balanced accuracy"),
    *("at the best threshold", "area", "calibration error", "pairs/s"),
)
Sets = Mapping[str, Sequence[Row]]
"""Name → pairs."""


class Scored(NamedTuple):
    """A pair's score, and its time."""

    score: float
    seconds: float


class Scores:
    """The scores of one verifier, in a file of JSON lines that may hold those of others.

    Args:
        path: The file; it need not exist. A last line that was cut off is dropped.
        verifier: The entailment model's name; scores of others are left alone.

    Raises:
        InputError: A line is no score.
    """

    def __init__(self, path: Path, open_verifier: str) -> None:
        self._path = path
        self._verifier = open_verifier
        self._known: dict[str, Scored] = {}
        if path.exists():
            data = path.read_bytes()
            if (end := data.rfind(b"\n") + 1) < len(data):
                with path.open("r+b") as file:
                    file.truncate(end)
            for number, line in enumerate(data[:end].splitlines(), start=1):
                self._read(line, number)

    def __getitem__(self, place: tuple[str, Row]) -> Scored:
        return self._known[_key(*place)]

    def missing(self, name: str, rows: Sequence[Row]) -> list[Row]:
        """The pairs of a set that have no score yet, each once, in order."""
        keyed = {_key(name, row): row for row in rows}
        return [row for key, row in keyed.items() if key not in self._known]

    def add(self, name: str, rows: Sequence[Row], scores: Sequence[float], seconds: float) -> None:
        """Keep the scores of a batch, and the time that it took."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            for row, score in zip(rows, scores, strict=True):
                key, found = _key(name, row), Scored(score, seconds / len(rows))
                self._known[key] = found
                line: dict[str, Any] = {"verifier": self._verifier, "set": name, "key": key}
                line |= {"source": row.source, "group": row.group, "entailed": row.entailed}
                line |= {"score": score, "seconds": round(found.seconds, 6)}
                file.write(json.dumps(line) + "\n")

    def _read(self, line: bytes, number: int) -> None:
        try:
            kept = json.loads(line)
            if kept["verifier"] == self._verifier:
                self._known[kept["key"]] = Scored(float(kept["score"]), float(kept["seconds"]))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{self._path}, line {number}, is no score of this benchmark",
                why=f"{type(error).__name__}: {error}",
                fix="Name another file with --out.",
            ) from error


async def score(entailment: Entailment, sets: Sets, scores: Scores, bar: Progress) -> None:
    """Score what has no score yet, in batches that are kept at once.

    Raises:
        ModelError: The model cannot be had, or does not answer.
    """
    left = {name: scores.missing(name, rows) for name, rows in sets.items()}
    if any(left.values()):
        await entailment.scores([Pair("Warm.", "Warm.")])  # loads the model, which is not timed
    for name, rows in sets.items():
        task = bar.add_task(name, total=len(rows), completed=len(rows) - len(left[name]))
        # By length, so that batches are even; the longest first, so that a lack of memory shows.
        left[name].sort(key=lambda row: len(row.premise), reverse=True)
        for begin in range(0, len(left[name]), BATCH):
            batch = left[name][begin : begin + BATCH]
            begun = time.perf_counter()
            found = await entailment.scores([Pair(row.premise, row.hypothesis) for row in batch])
            scores.add(name, batch, found, time.perf_counter() - begun)
            bar.advance(task, len(batch))


def table(sets: Sets, scores: Scores, threshold: float) -> str:
    """A Markdown table, a row a set and one of their means."""
    found: list[list[float]] = []
    lines = [_line(HEAD), _line(["---"] * len(HEAD))]
    for name, rows in sets.items():
        kept = [scores[name, row] for row in rows]
        values, truths = measure.by_group(rows, [own.score for own in kept])
        quality = measure.quality(values, truths, threshold)
        spent = sum(own.seconds for own in kept)
        numbers = [quality.false_proofs, quality.balanced, quality.best, quality.area]
        numbers += [quality.error, len(kept) / spent if spent else math.nan]
        found.append(numbers)
        counts = [str(quality.pairs), str(sum(truths)), str(quality.proved)]
        lines.append(_line([name, *counts, *_shown(numbers, f" ({quality.best_threshold:.2f})")]))
    if len(found) > 1:
        means = [_mean(column) for column in zip(*found, strict=True)]
        lines.append(_line(["**mean**", "", "", "", *_shown(means, "")]))
    return "\n".join(lines)


def aggrefact(split: str, count: int | None) -> dict[str, list[Row]]:
    """LLM-AggreFact by its data sets.

    Args:
        split: `dev` or `test`.
        count: Most rows of each data set, the first ones; by default all.

    Raises:
        MissingExtraError: The library `datasets` is not installed.
        InputError: The hub cannot be reached, or refuses the set.
    """
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise MissingExtraError(
            "LLM-AggreFact is read by the `datasets` library",
            fix='Install it with: pip install "citeproof[datasets]"',
        ) from error
    try:
        rows = load_dataset(AGGREFACT, split=split)
    except Exception as error:  # whatever the library lets through of those below it
        raise InputError(
            "LLM-AggreFact cannot be fetched",
            why=f"{AGGREFACT}: {(str(error).splitlines() or [type(error).__name__])[0]}",
            fix="Accept its terms on the Hugging Face hub, log in with `hf auth login`, and try "
            "again where the hub can be reached; or name files with --pairs.",
        ) from error
    sets: dict[str, list[Row]] = {}
    for row in rows:
        kept = sets.setdefault(str(row["dataset"]), [])
        if count is None or len(kept) < count:
            label = "entailed" if row["label"] == 1 else "not_entailed"
            kept.append(Row(row["doc"], row["claim"], label, str(row["dataset"])))
    return sets


def read(entries: Iterable[str]) -> Iterator[tuple[str, list[Row]]]:
    """The sets of files of pairs, by the files' stems.

    Raises:
        InputError: A file cannot be read, or a line is no pair.
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
            raise InputError(f"{entry} holds no pair", fix="Name another file.")
        yield name, rows


def run(arguments: argparse.Namespace, out: Console, err: Console) -> None:
    """Score what is missing, and print the table."""
    more, others = given.split_sets(arguments.set)
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
    settings = given.read_settings(arguments.config, more=more)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with open_verifier(settings, err) as entailment:
        scores = Scores(arguments.out, entailment.name)
        with Progress(*columns, TimeRemainingColumn(), console=err) as bar:
            asyncio.run(score(entailment, sets, scores, bar))
        told = f"`{entailment.name}`, threshold {entailment.threshold:.3g}"
        text = f"{told}\n\n{table(sets, scores, entailment.threshold)}"
    out.print(text, markup=False, soft_wrap=True, highlight=False)
    if arguments.table is not None:
        arguments.table.write_text(f"{text}\n", encoding="utf-8")


def main() -> None:
    """Run it, and report an error in one line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pairs", action="append", default=[], help="FILE or FILE:COUNT")
    parser.add_argument("--aggrefact", choices=["dev", "test"], help="a split of LLM-AggreFact")
    parser.add_argument("--count", type=int, help="most rows of each set of LLM-AggreFact")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--config", type=Path, help="a settings file")
    parser.add_argument("--out", type=Path, required=True, help="where scores are kept")
    parser.add_argument("--table", type=Path, help="where the table goes as well")
    err = Console(stderr=True)
    try:
        run(parser.parse_args(), Console(), err)
    except CiteproofError as error:
        err.print(f"{error}", style="red", markup=False, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        err.print("Interrupted. The same command goes on where this one stopped.")
        sys.exit(130)


def _key(name: str, row: Row) -> str:
    """The key of a pair in the file: a hash, so that no text is kept there."""
    text = "\x00".join((name, row.premise, row.hypothesis))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _shown(numbers: Sequence[float], best: str) -> list[str]:
    """Shares with three digits, the last number, a speed, with one."""
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
