"""Reducers, by which LangGraph merges an update into a key, and the types of keys with reducers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import TypeAdapter

from citeproof.settings import BudgetSettings
from citeproof.state.documents import as_passage
from citeproof.state.records import (
    Contrast,
    Draft,
    Ledger,
    NodeCost,
    Reflection,
    Retrieval,
    SearchRound,
    Swap,
)
from citeproof.types import Answer, Claim, Passage

T = TypeVar("T")


def latest(_: T, new: T) -> T:
    """Reducer: the new value. Unlike a plain key, a key with a reducer has a default."""
    return new


def latest_of(kind: Any) -> Callable[[Any, Any], Any]:
    """A reducer: the new value, converted to this type if it is JSON.

    People can change the state at any step, in Studio and through a server.
    """
    made = TypeAdapter(kind).validate_python

    def latest_made(_: Any, new: Any) -> Any:
        return made(new) if _is_json(new) else new

    return latest_made


def _is_json(value: object) -> bool:
    """Whether the value contains JSON objects where models belong."""
    if isinstance(value, list):
        return any(map(_is_json, value))
    return isinstance(value, Mapping)


def append_new(old: list[Passage], new: list[Passage]) -> list[Passage]:
    """Reducer: append the passages that are new, so numbers never shift."""
    known = {passage.id for passage in old}
    made = (Passage.model_validate(one) if _is_json(one) else as_passage(one) for one in new)
    fresh = {passage.id: passage for passage in made if passage.id not in known}
    return [*old, *fresh.values()]


def merge_ledgers(old: Ledger, new: Ledger) -> Ledger:
    """Reducer: every call once. A subgraph returns the ledger that it got, plus its own calls."""
    made = {place: NodeCost.model_validate(c) if _is_json(c) else c for place, c in new.items()}
    return {**old, **made}


Texts = Annotated[list[str], latest]
Claims = Annotated[list[Claim], latest_of(list[Claim])]
Passages = Annotated[list[Passage], latest_of(list[Passage])]
Samples = Annotated[list[list[Claim]], latest_of(list[list[Claim]])]
Contrasts = Annotated[list[Contrast], latest_of(list[Contrast])]
SearchRounds = Annotated[list[SearchRound], latest_of(list[SearchRound])]
Swaps = Annotated[list[Swap], latest_of(list[Swap])]
Reflections = Annotated[list[Reflection], latest_of(list[Reflection])]
AnyDraft = Annotated[Draft | None, latest_of(Draft)]
AnyAnswer = Annotated[Answer | None, latest_of(Answer)]
AnyBudget = Annotated[BudgetSettings | None, latest_of(BudgetSettings)]
AnyRetrieval = Annotated[Retrieval | None, latest_of(Retrieval)]
LedgerChannel = Annotated[Ledger, merge_ledgers]
Messages = Annotated[list[AnyMessage], add_messages]
