"""A run's scores: by example, and as means with intervals."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json

from citeproof.errors import InputError
from citeproof.evaluation.examples import Mode, Scores
from citeproof.evaluation.metrics.citations import MOST_CITATIONS
from citeproof.evaluation.metrics.mauve import mauve as mauve_of
from citeproof.evaluation.metrics.reader import Reader
from citeproof.evaluation.results import Result, digest
from citeproof.evaluation.runs import Run
from citeproof.evaluation.scoring import score
from citeproof.evaluation.statistics import Estimate, estimate_all
from citeproof.files import parse, read_file, write_whole
from citeproof.tools.entailment import Entailment
from citeproof.tools.entailment.cache import CachedEntailment

__all__ = ["Judge", "Scorecard", "make_scorecard", "read_scorecard", "write_scorecard"]

_TRUE = "t5_xxl_true_nli_mixture"
"""The entailment model of ALCE's evaluator."""


class Judge(BaseModel, frozen=True, extra="forbid"):
    """The entailment model that decided."""

    name: str
    threshold: float


class Scorecard(BaseModel, frozen=True, extra="forbid"):
    """The contents of a run's scores-<mode>.json."""

    mode: Mode
    entailment: Judge | None = None
    """None: only the metrics that need no such model."""
    at_most_citations: int = MOST_CITATIONS
    """How many citations of a statement count."""
    cot: bool = False
    """Whether lists are read from the first colon on."""
    answers: str
    """sha256 of what was scored."""
    caveats: tuple[str, ...] = ()
    """Notes that a reader must know before comparing."""
    errors: int = 0
    """Examples that ended in an error; they are left out of all means."""
    metrics: dict[str, Estimate] = {}
    """Metric → its value over the answers to which it applies."""
    mauve: float | None = None
    """Of all answers together, so that it has no interval; None where it was not asked for."""
    examples: dict[str, Scores] = {}
    """Example's id → its scores."""

    @property
    def way(self) -> tuple[Judge | None, int, bool]:
        """How it was counted, beside the mode."""
        return self.entailment, self.at_most_citations, self.cot


async def make_scorecard(
    run: Run,
    entailment: Entailment | None,
    *,
    mode: Mode,
    reader: Reader | None = None,
    mauve: bool = False,
    at_most_citations: int = MOST_CITATIONS,
    cot: bool = False,
) -> Scorecard:
    """Score a run from its outputs alone.

    Args:
        run: The answers to score.
        entailment: Decides what entails what; without one, the metrics that need it are left out.
            Its scores are kept beside the run, so that a second time costs next to nothing.
        mode: How metrics count.
        reader: For Disambig-F1, QA-EM, QA-Hit and DR; without one they are left out.
        mauve: Whether MAUVE is computed as well. It comes first, so that nobody waits for the
            judge to learn that MAUVE cannot be had.
        at_most_citations: How many citations of a statement count.
        cot: Whether lists (QAMPARI) are read from the first colon on, behind a reasoning.

    Raises:
        InputError: Fewer than one citation is to count; or MAUVE is asked for, and cannot be had
            for these questions.
        MissingExtraError: A model, the strict mode or MAUVE needs an extra that is not installed.
        StoreError: The kept scores cannot be read or written.
        ModelError: The entailment model, or MAUVE's GPT-2, cannot be had.
    """
    if at_most_citations < 1:
        raise InputError(f"{at_most_citations} citations cannot count", fix="Count at least one.")
    items = run.items()
    whole = None
    if mauve:
        whole = await asyncio.to_thread(mauve_of, items, mode=mode)
    judge = None
    if entailment is not None:
        judge = Judge(name=entailment.name, threshold=entailment.threshold)
        entailment = CachedEntailment(entailment, file=run.beside("entailment.sqlite"))
    how: dict[str, Any] = {"at_most_citations": at_most_citations, "cot": cot}
    rows = await score(items, entailment, mode=mode, reader=reader, **how)
    examples = {example.id: row for (example, _), row in zip(items, rows, strict=True)}
    caveats = [_judged(mode, judge)]
    if at_most_citations != MOST_CITATIONS:
        counted = "citation counts" if at_most_citations == 1 else "citations count"
        told = f"At most {at_most_citations} {counted} of a statement, and not {MOST_CITATIONS}."
        caveats.append(told)
    if cot:
        caveats.append("Lists were read from the first colon on.")
    if mauve:
        caveats.append(
            "MAUVE is unstable by its authors' own word: compare only values of one machine and of "
            "equally many answers."
        )
    return Scorecard(
        mode=mode,
        **how,
        entailment=judge,
        answers=_answers(run),
        caveats=tuple(filter(None, caveats)),
        errors=len(run.examples) - len(items),
        metrics=estimate_all(rows),
        mauve=whole,
        examples=examples,
    )


def write_scorecard(run: Run, card: Scorecard) -> Path:
    """Keep the scores beside the run; where they are.

    Raises:
        InputError: They cannot be written.
    """
    path = run.beside(f"scores-{card.mode}.json")
    write_whole(path, card.model_dump_json(indent=1) + "\n")
    return path


def read_scorecard(run: Run, mode: Mode) -> Scorecard | None:
    """The scores that were kept; None where there are none, or the run's answers are others now.

    Raises:
        InputError: They cannot be read.
    """
    path = run.beside(f"scores-{mode}.json")
    if not path.exists():
        return None
    fix = "Score the run again: citeproof score."
    card = parse(Scorecard, read_file(path), f"{path} holds no scores", fix)
    same = card.examples.keys() == {example.id for example, _ in run.items()}
    return card if same and card.answers == _answers(run) else None


def _answers(run: Run) -> str:
    """The sha256 of what metrics read."""
    return digest(f"{example.id} {_read_part(result)}\n" for example, result in run.items())


def _read_part(result: Result) -> str:
    told = {"question": result.question, "text": result.output}
    return to_json(told | {"passages": result.docs, "retrieved": result.retrieved}).decode()


def _judged(mode: Mode, judge: Judge | None) -> str:
    """Why scores by this judge are not those of ALCE; empty where they are."""
    if judge is None:
        return "Not scored with an entailment model: the metrics of citations are left out."
    if _TRUE not in judge.name:
        return (
            f"Entailment was judged by {judge.name}, not by TRUE (T5-XXL): citation metrics and "
            "claim recall are not comparable with published ALCE numbers."
        )
    if mode == "corrected":
        return "Published ALCE numbers were counted in the strict way: score so to compare."
    return ""
