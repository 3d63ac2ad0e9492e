"""How far a method had come after each of its iterations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from citeproof.evaluation.results import Result

__all__ = ["Curve", "curve"]

_GOALS = {
    "sufficient": "questions whose passages suffice",
    "agreed": "answers agreed on",
    "faultless": "answers without fault",
}
"""Outcome of a round → what the curve of its share is called."""


@dataclass(frozen=True)
class Curve:
    """How far a method had come after each of its iterations."""

    of: str
    """The outcome whose share is drawn."""
    shares: tuple[float, ...]
    """From the first iteration on; they never fall."""


def curve(results: Sequence[Result]) -> Curve | None:
    """How far a run was after each iteration; None where its method has one only.

    VTG: claims proved by their n-th trial. CaLM: answers that both models agreed on by the n-th
    round. LLatrieval: questions whose passages were found to suffice by the n-th round. R²-MGA:
    answers in which the n-th assessment, or one before it, found no fault.
    """
    rounds = [_rounds(result) for result in results if result.error is None]
    for key, of in _GOALS.items():
        if any(key in one for own in rounds for one in own):
            return _share_curve(of, [_first(own, key) for own in rounds])
    verdicts = [
        claim.verdict
        for result in results
        if result.answer is not None
        for claim in result.answer.claims
    ]
    proved = [v.trials if v.status == "supported" else None for v in verdicts]
    return _share_curve("claims proved", proved)


def _rounds(result: Result) -> list[dict[str, Any]]:
    search = result.details.get("retrieval") or {}
    found: list[dict[str, Any]] = result.details.get("rounds") or search.get("rounds") or []
    verdicts = ("complete", "correct", "cited")
    return [
        {**one, "faultless": all(map(one.get, verdicts))} if "complete" in one else one
        for one in found
    ]


def _share_curve(of: str, when: Sequence[int | None]) -> Curve | None:
    last = max((number for number in when if number is not None), default=0)
    if last < 2:
        return None
    shares = [
        sum(number is not None and number <= n for number in when) / len(when)
        for n in range(1, last + 1)
    ]
    return Curve(of, tuple(shares))


def _first(rounds: Sequence[Mapping[str, Any]], key: str) -> int | None:
    return next((n for n, one in enumerate(rounds, start=1) if one.get(key)), None)
