"""Cases of the memory bank and reports on them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from citeproof.errors import SettingsError
from citeproof.files import parse
from citeproof.settings import BankSettings
from citeproof.tools.citations.answer_text import AnyForm
from citeproof.tools.retrieval.case_vectors import Kind
from citeproof.types import Passage


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Case(_Value):
    """The record of a finished question."""

    question: str
    """Q."""
    passages: tuple[Passage, ...]
    """D, in the order of their numbers in `answer` and `final`, from 1."""
    answer: str
    """A: the first answer, with marks [1][2]."""
    feedback: str
    """F: the assessment of the first answer."""
    actions: tuple[str, ...] = ()
    """T: the planned actions; empty if no refinement was needed."""
    final: str
    """A*: the final answer, with marks."""
    method: str = "r2-mga"
    form: AnyForm = "prose"
    """The form of both answers; a question only sees cases of its own form."""
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    """Share of the statements of A* that the entailment model found supported; None if only the
    language model assessed them."""


class Snippet(_Value):
    """One of the three records of a case, as a search found it."""

    id: str
    case_id: str
    kind: Kind
    case: Case
    rationale: str = ""
    """The reasons for its decisions; empty until a rationale is kept."""
    similarity: float | None = None
    """Cosine similarity to the query, -1 to 1."""
    created: datetime


class Entry(_Value):
    """A case with the bank's metadata; each line of an export is an entry."""

    id: str = ""
    """Derived from namespace and case (`key`); an import recomputes it."""
    namespace: str = Field(pattern=BankSettings.model_fields["namespace"].metadata[0].pattern)
    case: Case
    rationales: dict[Kind, str] = {}
    """The rationales written so far."""
    created: datetime
    embedder: str = ""
    """The model of its vectors; an import recomputes them with its own model."""

    @property
    def key(self) -> str:
        """Its identity among all cases."""
        return _digest([self.namespace, self.case.model_dump_json()])

    @property
    def topic(self) -> str:
        """The topic of the case; a newer case with the same topic replaces it."""
        question = " ".join(self.case.question.casefold().split())
        passages = sorted([passage.id, passage.text] for passage in self.case.passages)
        return _digest([self.namespace, self.case.form, question, passages])


class ImportReport(NamedTuple):
    """The outcome of an import of cases."""

    added: int = 0
    skipped: int = 0
    """Cases that already exist, or of which the bank has a newer one on the same topic."""


class Statistics(_Value):
    """Statistics of the bank."""

    namespaces: dict[str, int]
    """Namespace → cases."""
    cases: int
    rationales: int
    """Number of rationales; each case may have three."""
    scored: int
    """Cases that an entailment model has scored."""
    mean_score: float | None
    """Mean score of these cases; None if there are none."""
    embedder: str


def check_namespace(name: str) -> str:
    """The name, if it is allowed.

    Raises:
        SettingsError: The name is not allowed.
    """
    try:
        return BankSettings(namespace=name).namespace
    except ValidationError as error:
        raise SettingsError(
            f"{name!r} cannot be a namespace of the memory bank",
            fix="Use at most 64 letters, digits, _, . and -.",
        ) from error


def parse_entries(
    lines: Iterable[str], source: str = "The import", *, namespace: str | None = None
) -> list[Entry]:
    """The cases of an export; blank lines are skipped.

    Args:
        lines: Lines with a JSON object each.
        source: Name of the lines in error messages.
        namespace: Namespace for all cases; by default, each case keeps its own.

    Raises:
        InputError: A line is not a case.
        SettingsError: The namespace is not allowed.
    """
    changes = {} if namespace is None else {"namespace": check_namespace(namespace)}
    entries = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            what = f"{source} cannot be imported: line {number} is no case"
            entry = parse(Entry, line, what, "Name a file that `citeproof bank export` wrote.")
            entries.append(entry.model_copy(update=changes))
    return entries


def summarize(entries: Iterable[Entry]) -> Statistics:
    """The statistics of the cases."""
    held = list(entries)
    scores = [entry.case.score for entry in held if entry.case.score is not None]
    return Statistics(
        namespaces=dict(sorted(Counter(entry.namespace for entry in held).items())),
        cases=len(held),
        rationales=sum(len(entry.rationales) for entry in held),
        scored=len(scores),
        mean_score=sum(scores) / len(scores) if scores else None,
        embedder=held[0].embedder if held else "",
    )


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
