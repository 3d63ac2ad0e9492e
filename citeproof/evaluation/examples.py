"""The examples of data sets."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from citeproof.types import Passage

Task = Literal["asqa", "qampari", "eli5", "qa"]
"""Determines which metrics of correctness apply; `qa` is for all sets with short answers."""

Mode = Literal["strict", "corrected"]
"""strict: as ALCE's released evaluator counts; corrected (the default): without its mistakes."""

Scores = dict[str, float | None]
"""Metric → its value for one answer; None if it does not apply."""


class Example(BaseModel, frozen=True, extra="forbid"):
    """A question, and what is known about its answer."""

    id: str
    question: str
    task: Task
    answerable: bool = True
    answers: tuple[tuple[str, ...], ...] = ()
    """The aliases of each expected short answer: one for each sub-question (ASQA), entity
    (QAMPARI) or part (qa); a qa answer usually has one part."""
    sub_questions: tuple[str, ...] = ()
    """The sub-question of each of `answers` (ASQA); empty if the set has none."""
    references: tuple[str, ...] = ()
    """Long answers that people wrote."""
    claims: tuple[str, ...] = ()
    """The claims of a good answer (ELI5)."""
    gold: tuple[str, ...] = ()
    """Ids of the passages that contain the answer, if the set names them."""
    documents: tuple[Passage, ...] = ()
    """Passages that come with the question, best first (ALCE's `docs`); if empty, retrieve."""
    raw: dict[str, Any] = {}
    """The object that the example was read from, to write results in ALCE's format."""
