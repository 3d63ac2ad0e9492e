"""Labelled pairs: the rows that training reads and `make` writes.

A row is one line of JSON with `premise`, `hypothesis`, `label` and `source`. Sets with three labels
use entailment, neutral and contradiction; sets with two use entailed and not_entailed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from citeproof.models.merged import LABELS
from citeproof.tools.entailment import question_hypothesis

TARGETS = {label: index for index, label in enumerate(LABELS)} | {"entailed": 0, "not_entailed": -1}
"""The target output of a label; -1 means anything but entailment."""


@dataclass(frozen=True)
class Row:
    """One labelled pair."""

    premise: str
    hypothesis: str
    label: str
    source: str
    """The set it comes from; rows made from another set have that set's name and the recipe's."""
    group: str = ""
    """Rows of one group are one claim against several chunks; the best chunk counts."""

    @property
    def entailed(self) -> bool:
        """Whether the premise entails the hypothesis."""
        return TARGETS[self.label] == 0


def lines(path: Path) -> list[Any]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read(path: Path) -> Iterator[Row]:
    """The rows of a file of JSON lines; unless generated, their source is the file's stem.

    Raises:
        ValueError: A line is not a row; the message names file and line.
    """
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                fields = json.loads(line)
                label = fields["label"]
                if label not in TARGETS:
                    raise ValueError(f"unknown label {label!r}")
                for name in ("premise", "hypothesis"):
                    if not isinstance(fields[name], str):
                        raise ValueError(f"{name} is not text: {fields[name]!r}")
                yield Row(
                    premise=fields["premise"],
                    hypothesis=fields["hypothesis"],
                    label=label,
                    source=fields["source"] if "made" in fields else path.stem,
                    group=str(fields.get("group") or ""),
                )
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{path}, line {number}: {error}") from error


def sample(entry: str) -> tuple[str, list[Row]]:
    """The set's name and the rows of `FILE`, or about COUNT rows of `FILE:COUNT`, in file order.

    Rows are drawn with a fixed seed. Groups stay whole, so the number can exceed COUNT.

    Raises:
        ValueError: A line is not a row.
    """
    path, colon, count = entry.rpartition(":")
    if not (colon and count.isdecimal()):
        path, count = entry, ""
    rows = list(read(Path(path)))
    if count and int(count) < len(rows):
        groups: dict[str, list[int]] = {}
        for index, row in enumerate(rows):
            groups.setdefault(row.group or f"#{index}", []).append(index)
        order = list(groups.values())
        random.Random(1).shuffle(order)
        kept: list[int] = []
        for group in order:
            if len(kept) >= int(count):
                break
            kept += group
        rows = [rows[index] for index in sorted(kept)]
    return Path(path).stem, rows


def show(title: str, text: str, rng: random.Random, titled: float) -> str:
    """A text with its title above it, as citeproof shows it, in a share `titled` of the calls."""
    return f"Title: {title}\n{text}" if rng.random() < titled else text


def answer_row(text: str, question: str, answers: bool, source: str) -> Row:
    """A pair of a text and a question, whose label says whether the text answers it."""
    label = "entailed" if answers else "not_entailed"
    return Row(text, question_hypothesis(question), label, source)


def write(path: Path, rows: Iterable[Row]) -> int:
    """Write generated rows, and return their number."""
    made = [json.dumps(asdict(row) | {"made": True}, ensure_ascii=False) + "\n" for row in rows]
    path.write_text("".join(made), encoding="utf-8")
    return len(made)


def save(out: Path, name: str, rows: Iterable[Row]) -> None:
    """Write generated rows to NAME.jsonl in a folder, and tell their number."""
    file = out / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    typer.echo(f"{name}: {write(file, rows)}")
