"""An example of a data set."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from citeproof.types import Passage

Task = Literal["asqa", "qampari", "eli5", "qa"]
"""The metrics of correctness that apply; `qa` stands for all sets of short answers."""

Mode = Literal["strict", "corrected"]
"""strict: as ALCE's released evaluator counts; corrected: without its slips, the default."""

Scores = dict[str, float | None]
"""Metric → its value for one answer; None where it does not apply."""


class Example(BaseModel, frozen=True, extra="forbid"):
    """A question, and what is known of its answer."""

    id: str
    question: str
    task: Task
    answerable: bool = True
    answers: tuple[tuple[str, ...], ...] = ()
    """The aliases of each short answer that is expected: one for each sub-question (ASQA), one
    for each entity (QAMPARI), for each part (qa), of which there is usually one."""
    sub_questions: tuple[str, ...] = ()
    """The sub-question of each of `answers` (ASQA); empty where the set does not say."""
    references: tuple[str, ...] = ()
    """Long answers that people wrote."""
    claims: tuple[str, ...] = ()
    """The claims of a good answer (ELI5)."""
    gold: tuple[str, ...] = ()
    """Ids of the passages that hold the answer, where the set names them."""
    documents: tuple[Passage, ...] = ()
    """Passages that come with the question, best first (ALCE's `docs`); empty: retrieve."""
    raw: dict[str, Any] = {}
    """The object that it was read from, so that results can be written as ALCE writes them."""
