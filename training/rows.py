"""Labelled pairs: the rows that training reads and `make` writes.

A row is one line of JSON with `premise`, `hypothesis`, `label` and `source`. Labels are
entailment, neutral and contradiction where a set has three, entailed and not_entailed where it
has two.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from citeproof.models.entailment import LABELS

TARGETS = {label: index for index, label in enumerate(LABELS)} | {"entailed": 0, "not_entailed": -1}
"""The output that a label asks for; -1: anything but entailment."""


@dataclass(frozen=True)
class Row:
    """One labelled pair."""

    premise: str
    hypothesis: str
    label: str
    source: str
    """The set it is from; rows made of another set bear that set's name and the recipe's."""
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
    """The rows of a file of JSON lines, named by the file's stem where they name no set.

    Raises:
        ValueError: A line is no row; the message names file and line.
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
                        raise ValueError(f"{name} is no text: {fields[name]!r}")
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
    """The set's name and the rows of `FILE` or `FILE:COUNT`, drawn with a fixed seed.

    Groups stay whole: as many are drawn as hold about that many rows, in the file's order.

    Raises:
        ValueError: A line is no row, or the count is no number.
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


def write(path: Path, rows: Iterable[Row]) -> int:
    """Writes made rows; returns how many."""
    made = [json.dumps(asdict(row) | {"made": True}, ensure_ascii=False) + "\n" for row in rows]
    path.write_text("".join(made), encoding="utf-8")
    return len(made)
