"""What flows along the edges of the graphs.

Each node declares the part of the state that it reads; the graph's own state is the union.
Passages are numbered by their place in `passages`, from 1: a passage keeps its number for the
whole run, whichever memory it sits in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, NotRequired

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict  # pydantic refuses that of typing before 3.12

from citeproof.types import Answer, Claim, Passage, Usage, Verdict

__all__ = [
    "Draft",
    "DraftState",
    "MemoryState",
    "Question",
    "Result",
    "VTGState",
    "VTGUpdate",
    "WritingState",
    "numbered",
    "remembered",
    "written",
]


class Draft(BaseModel):
    """The claim now in hand."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    cited: tuple[str, ...] = ()
    """Ids of the passages it cites."""
    verdict: Verdict | None = None
    """None until a verifier has looked at it."""


def append_new(old: list[Passage], new: list[Passage]) -> list[Passage]:
    """Reducer: add the passages that are not there yet, so that numbers never shift."""
    known = {passage.id for passage in old}
    fresh = {passage.id: passage for passage in new if passage.id not in known}
    return [*old, *fresh.values()]


def append_notes(old: list[str], new: list[str]) -> list[str]:
    """Reducer: every note once, in order."""
    return list(dict.fromkeys([*old, *new]))


def add_usage(old: Usage, new: Usage) -> Usage:
    """Reducer: costs add up."""
    return old + new


class Question(TypedDict):
    """The input of every graph."""

    question: str
    documents: NotRequired[list[Any]]
    """Passages to answer from, instead of the index: `Passage`s, dicts of their fields, or
    plain strings."""


class Result(TypedDict):
    """The output of every graph."""

    answer: Answer


class MemoryState(TypedDict):
    """The question and the evolving memory (VTG, section 2.2)."""

    question: str
    passages: Annotated[list[Passage], append_new]
    """Every passage met in this run."""
    long_term: list[str]
    """Ids of D_L: the passages that stay for the whole answer."""
    short_term: list[str]
    """Ids of D_S: the passages fetched for the claim now in hand."""


class WritingState(MemoryState):
    """Memory, and the text so far."""

    claims: list[Claim]
    """Accepted claims (O); until the answer is composed their citations bear run numbers."""
    rejected: list[str]
    """Drafts of the claim now in hand that neither tier supported; their count is t."""
    dropped: list[str]
    """Claims left out of the answer because nothing supported them."""


class DraftState(WritingState):
    """Memory, the text so far, and the claim now in hand."""

    draft: Draft | None
    """None where the writer has finished."""


class VTGState(DraftState):
    """The whole state of a VTG run."""

    documents: list[Any]
    stop: str
    """Why the run must end now; empty while it may go on."""
    usage: Annotated[Usage, add_usage]
    notes: Annotated[list[str], append_notes]
    answer: Answer


class VTGUpdate(TypedDict, total=False):
    """What a node may write."""

    passages: list[Passage]
    long_term: list[str]
    short_term: list[str]
    claims: list[Claim]
    rejected: list[str]
    dropped: list[str]
    draft: Draft | None
    stop: str
    notes: list[str]
    answer: Answer


def remembered(state: MemoryState) -> dict[int, Passage]:
    """D_L ∪ D_S: number → passage, in order of the numbers."""
    inside = {*state["long_term"], *state["short_term"]}
    return {n: p for n, p in enumerate(state["passages"], start=1) if p.id in inside}


def numbered(state: MemoryState, ids: Iterable[str]) -> dict[int, Passage]:
    """Number → passage for some ids, in order of the numbers; unknown ids are left out."""
    wanted = set(ids)
    return {n: p for n, p in enumerate(state["passages"], start=1) if p.id in wanted}


def written(state: WritingState) -> str:
    """The accepted text so far, without marks."""
    return " ".join(claim.text for claim in state["claims"])
