"""Values that nodes compute from a state: numbered passages, text, shares, costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from citeproof.errors import InputError
from citeproof.state.nodes import MemoryState, ReflectionState, ShortenedState, WritingState
from citeproof.state.records import Ledger
from citeproof.text import join_ended
from citeproof.types import Claim, Passage, Usage

T = TypeVar("T")


def last_round(rounds: Sequence[T]) -> T:
    """The last round.

    Raises:
        InputError: There is none, since an update of the state has removed it.
    """
    if not rounds:
        raise InputError(
            "The run cannot continue",
            why="its state holds no round, though one has been made",
            fix="Leave the last one in `rounds`, or continue from an earlier checkpoint.",
        )
    return rounds[-1]


def memory_passages(state: MemoryState) -> dict[int, Passage]:
    """D_L ∪ D_S: number → passage, in order of the numbers; all if the state has neither."""
    if "long_term" not in state and "short_term" not in state:
        return dict(enumerate(state["passages"], start=1))
    return number_passages(state, (*state.get("long_term", ()), *state.get("short_term", ())))


def number_passages(state: MemoryState, ids: Iterable[str]) -> dict[int, Passage]:
    """Number → passage for the given ids, in order of the numbers; unknown ids are left out."""
    wanted = set(ids)
    return {n: p for n, p in enumerate(state["passages"], start=1) if p.id in wanted}


def in_short(passage: Passage, short_forms: Mapping[str, str]) -> Passage:
    """The passage, with its short form instead of its text if it has one."""
    short = short_forms.get(passage.id)
    return passage if short is None else passage.model_copy(update={"text": short})


def read_passages(state: ShortenedState | ReflectionState) -> dict[int, Passage]:
    """The memory as a model reads it: number → passage, in its short form if it has one."""
    short = state.get("short_forms") or {}
    return {n: in_short(passage, short) for n, passage in memory_passages(state).items()}


def text_so_far(state: WritingState) -> str:
    """The accepted text so far, without marks; each claim ends like a sentence.

    A quoted list item may have no full stop, and a model would go on with it.
    """
    return join_ended((claim.text for claim in state["claims"]), ".")


def proved_share(claims: Sequence[Claim], dropped: Sequence[str] = ()) -> float:
    """Share of the claims that are supported, 0 to 1; dropped claims count as unsupported."""
    return count_proved(claims) / max(1, len(claims) + len(dropped))


def count_proved(claims: Sequence[Claim]) -> int:
    """The number of claims that are supported."""
    return sum(claim.verdict.status == "supported" for claim in claims)


def total_usage(ledger: Ledger) -> Usage:
    """The total cost of the calls in a ledger."""
    return sum((cost.usage for cost in ledger.values()), Usage())


def calls_of(ledger: Ledger, graph: str) -> Ledger:
    """The entries of a graph and its subgraphs; all entries for the outermost graph, ""."""
    return {place: c for place, c in ledger.items() if place.startswith(f"{graph}|") or not graph}
