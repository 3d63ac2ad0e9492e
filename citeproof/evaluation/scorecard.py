"""A run's scores, per example and as means with intervals."""

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
from citeproof.evaluation.results import digest
from citeproof.evaluation.runs import Run
from citeproof.evaluation.scoring import score
from citeproof.evaluation.statistics import Estimate, estimate_all
from citeproof.files import parse, read_file, write_whole
from citeproof.text import count
from citeproof.tools.entailment import Entailment
from citeproof.tools.entailment.base import collect_unread
from citeproof.tools.entailment.cache import CachedEntailment

__all__ = ["Judge", "Scorecard", "make_scorecard", "read_scorecard", "write_scorecard"]

_TRUE = "t5_xxl_true_nli_mixture"
"""The entailment model of ALCE's evaluator."""


class Judge(BaseModel, frozen=True, extra="forbid"):
    """The entailment model that judged."""

    name: str
    threshold: float


class Scorecard(BaseModel, frozen=True, extra="forbid"):
    """The contents of a run's scores-<mode>.json."""

    mode: Mode
    entailment: Judge | None = None
    """None if only metrics that need no such model were computed."""
    at_most_citations: int = MOST_CITATIONS
    """How many citations of a statement count."""
    cot: bool = False
    """Whether lists are read from the first colon on."""
    answers: str
    """sha256 of what was scored."""
    caveats: tuple[str, ...] = ()
    """What a reader must know before comparing these scores."""
    errors: int = 0
    """Examples that ended in an error, which all means leave out."""
    metrics: dict[str, Estimate] = {}
    """Metric → its value over the answers to which it applies."""
    mauve: float | None = None
    """Computed for all answers together, so it has no interval; None if it was not requested."""
    examples: dict[str, Scores] = {}
    """Example's id → its scores."""

    @property
    def way(self) -> tuple[Judge | None, int, bool]:
        """How metrics were counted, apart from the mode."""
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
    """Score a run from its outputs alone, as `score` does.

    The judge's scores are cached next to the run, so scoring again costs almost nothing. MAUVE
    comes first, so that its errors are reported before the judge has run.

    Raises:
        InputError: `at_most_citations` is less than 1, or MAUVE is requested and these questions
            have no long answers.
        MissingExtraError: A model, the strict mode or MAUVE needs an extra that is not installed.
        StoreError: The cached scores cannot be read or written.
        ModelError: The entailment model or MAUVE's GPT-2 cannot be loaded.
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
    with collect_unread() as unread:
        rows = await score(items, entailment, mode=mode, reader=reader, **how)
    examples = {example.id: row for (example, _), row in zip(items, rows, strict=True)}
    caveats = [_judged(mode, judge)]
    if at_most_citations != MOST_CITATIONS:
        counted = "citation counts" if at_most_citations == 1 else "citations count"
        told = f"At most {at_most_citations} {counted} per statement, instead of {MOST_CITATIONS}."
        caveats.append(told)
    if cot:
        caveats.append("Lists were read from the first colon on.")
    if unread:
        pairs = count(len(unread), "pair")
        caveats.append(
            f"The judge gave no readable verdict on {pairs}, counted as not entailed: score again "
            "to ask anew."
        )
    if mauve:
        caveats.append(
            "MAUVE is unstable, as its authors say: only compare values from one machine and from "
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
    """Write the scores next to the run, and return their path."""
    path = run.beside(f"scores-{card.mode}.json")
    write_whole(path, card.model_dump_json(indent=1) + "\n")
    return path


def read_scorecard(run: Run, mode: Mode) -> Scorecard | None:
    """Read the scores of a run; None if there are none, or if the answers changed since."""
    path = run.beside(f"scores-{mode}.json")
    if not path.exists():
        return None
    fix = "Score the run again: citeproof score."
    card = parse(Scorecard, read_file(path), f"{path} contains no scores", fix)
    same = card.examples.keys() == {example.id for example, _ in run.items()}
    return card if same and card.answers == _answers(run) else None


def _answers(run: Run) -> str:
    """Return the sha256 of what metrics read."""
    lines = []
    for example, result in run.items():
        read: dict[str, Any] = {"question": result.question, "text": result.output}
        read |= {"passages": result.docs, "retrieved": result.retrieved}
        lines.append(f"{example.id} {to_json(read).decode()}\n")
    return digest(lines)


def _judged(mode: Mode, judge: Judge | None) -> str:
    """Say why scores of this judge don't compare with ALCE's; empty if they do."""
    if judge is None:
        return "Not scored with an entailment model: the metrics of citations are left out."
    if _TRUE not in judge.name:
        return (
            f"Entailment was judged by {judge.name}, not by TRUE (T5-XXL): citation metrics and "
            "claim recall are not comparable with published ALCE numbers."
        )
    if mode == "corrected":
        return "Published ALCE numbers were counted in strict mode; use it to compare with them."
    return ""
