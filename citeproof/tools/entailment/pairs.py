"""Reads, checks and scores premise-hypothesis pairs in JSON lines; compares scores to labels."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from typing import Any

import numpy as np

from citeproof.errors import InputError
from citeproof.text import whole
from citeproof.tools.entailment import Entailment, Pair

CHUNK = 512
"""Pairs that are scored together, and the most that are in memory."""
_FORM = 'Write each line as {"premise": "…", "hypothesis": "…"}, with any other fields you like.'
_LABELS = {
    "entailment": True,
    "entailed": True,
    "true": True,
    "neutral": False,
    "contradiction": False,
    "not_entailed": False,
    "not_entailment": False,
    "false": False,
}

Row = dict[str, Any]
"""One line: an object with strings under `premise` and `hypothesis`, and any other fields."""


def rows(lines: Iterable[bytes], name: str) -> Iterator[Row]:
    """Yield the objects of JSON lines in order, skipping blank lines; `name` is for errors.

    Raises:
        InputError: A line is not UTF-8, not JSON, or not an object whose premise and hypothesis
            are non-blank strings.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _row(line, f"{name}, line {number},")


async def score_rows(found: Iterable[Row], entailment: Entailment) -> AsyncIterator[list[Row]]:
    """Yield the objects with `score` (0 to 1) and `entailed` added, chunk by chunk.

    If the model marks unsupported spans, as LettuceDetect does, objects that are not entailed list
    them under `unsupported`, each with `start`, `end`, `text` and `score`. Existing values under
    these names are replaced.
    """
    waiting = iter(found)
    while chunk := list(islice(waiting, CHUNK)):
        pairs = [Pair(whole(row["premise"]), whole(row["hypothesis"])) for row in chunk]
        scores = await entailment.scores(pairs)
        judged = [
            row | {"score": score, "entailed": score >= entailment.threshold}
            for row, score in zip(chunk, scores, strict=True)
        ]
        if (spans := getattr(entailment, "spans", None)) is not None:
            for row, pair in zip(judged, pairs, strict=True):
                if not row["entailed"]:
                    row["unsupported"] = [asdict(span) for span in await spans(pair)]
        yield judged


def to_line(row: Row) -> bytes:
    """Return a scored object as a JSON line in UTF-8, its score rounded down to four digits."""
    rounded = row | {"score": math.floor(row["score"] * 10_000 + 1e-9) / 10_000}
    try:
        return f"{json.dumps(rounded, ensure_ascii=False)}\n".encode()
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can write
        return f"{json.dumps(rounded)}\n".encode()


def gold(row: Row) -> bool | None:
    """Whether an object's `label` says entailed; None if it says neither.

    `entailment`, `entailed` and true count as entailed; `neutral`, `contradiction`,
    `not_entailment`, `not_entailed` and false do not. Numbers say neither, since data sets
    disagree about their meaning.
    """
    label = row.get("label")
    if isinstance(label, bool):
        return label
    if not isinstance(label, str):
        return None
    return _LABELS.get(label.strip().lower().replace(" ", "_").replace("-", "_"))


class Agreement:
    """How well scores agree with labels; stores ten bytes per labelled pair."""

    def __init__(self) -> None:
        self.unread = 0
        """Number of labels that say neither entailed nor not entailed."""
        self._scores = array("d")
        self._labels = bytearray()
        self._right = bytearray()

    def add(self, row: Row) -> None:
        """Take a scored object into account, if it has a label."""
        label = gold(row)
        if label is None:
            self.unread += row.get("label") is not None
            return
        self._scores.append(row["score"])
        self._labels.append(label)
        self._right.append(row["entailed"] == label)

    @property
    def pairs(self) -> int:
        """The number of labelled pairs."""
        return len(self._labels)

    def figures(self) -> dict[str, float]:
        """Return `accuracy` if there are labelled pairs, and two more figures if both labels occur.

        `balanced accuracy` is the mean of the shares of correct decisions among entailed pairs and
        among other pairs. `AUC` is the probability that an entailed pair scores higher than another
        one; equal scores count half.
        """
        if not self.pairs:
            return {}
        labels, right = (np.frombuffer(own, dtype=bool) for own in (self._labels, self._right))
        accuracy = {"accuracy": float(right.mean())}
        if labels.all() or not labels.any():
            return accuracy
        scores = np.frombuffer(self._scores)
        low = np.sort(scores[~labels])
        beaten = [np.searchsorted(low, scores[labels], side) for side in ("left", "right")]
        return accuracy | {
            "balanced accuracy": float(right[labels].mean() + right[~labels].mean()) / 2,
            "AUC": float(np.mean(beaten) / len(low)),
        }


def _row(line: bytes, place: str) -> Row:
    try:
        # Any line may begin with a byte order mark, since files may have been concatenated.
        text = line.decode("utf-8-sig")
        row = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except UnicodeDecodeError as error:
        why = f"it is not valid UTF-8 at byte {error.start} of the line"
        raise InputError(f"{place} cannot be read", why=why, fix="Save it as UTF-8.") from error
    except (ValueError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise InputError(f"{place} is not JSON", why=why, fix=_FORM) from error
    if why := _problem(row):
        raise InputError(f"{place} is not a pair", why=why, fix=_FORM)
    checked: Row = row
    return checked


def _problem(row: Any) -> str:
    if not isinstance(row, dict):
        return "it is not an object"
    for key in ("premise", "hypothesis"):
        if key not in row:
            return f"it has no `{key}`"
        if not isinstance(row[key], str):
            return f"its `{key}` is not a text"
        if not row[key].strip():
            return f"its `{key}` is empty"
    return ""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"the number {digits} is too large")
    return number
