"""Moments of a run: LangGraph's `tasks` stream and citeproof's events, shortened, as JSON.

    async for part in graph.astream(input, **STREAM):
        if moment := observe(*part):
            ...

LangGraph reports which node began or ended, with the whole state. A moment keeps only short text
for people to read, which can be shown and stored.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from langgraph.types import Overwrite
from pydantic import BaseModel, ConfigDict, Field

from citeproof.runtime.events import EVENTS, Event
from citeproof.text import shorten
from citeproof.tools.llm.retries import scrub
from citeproof.types import Answer, Claim, Passage, Usage

__all__ = ["STREAM", "Moment", "NodeFinished", "NodeStarted", "brief", "observe"]


STREAM: dict[str, Any] = {"stream_mode": ["custom", "tasks"], "subgraphs": True}
"""Arguments that make `graph.astream` yield the arguments of `observe`."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class NodeStarted(_Record):
    """A node begins."""

    type: Literal["node_started"] = "node_started"
    id: str
    """LangGraph's id of the task."""
    node: str
    reads: dict[str, str] = {}
    """State key → short text, for people to read."""


class NodeFinished(_Record):
    """A node has ended: its writes and costs, or the error that it raised."""

    type: Literal["node_finished"] = "node_finished"
    id: str
    node: str
    writes: dict[str, str] = {}
    usage: Usage = Usage()
    error: str = ""


class Moment(_Record):
    """One thing that happened in a run."""

    at: float
    """Time in seconds, on an arbitrary clock."""
    namespace: tuple[str, ...] = ()
    """LangGraph's namespace: `node:task id` of each node that the graph runs in, outermost first.

    If a node runs several graphs, the later ones have their number appended.
    """
    event: Annotated[Event | NodeStarted | NodeFinished, Field(discriminator="type")]


def observe(namespace: tuple[str, ...], mode: str, payload: Any) -> Moment | None:
    """Translate a part of a run's stream; None if it is neither a task nor a citeproof event."""
    event: Event | NodeStarted | NodeFinished
    if mode == "tasks" and payload["name"].startswith("__"):
        return None  # LangGraph's own nodes, such as the error handler
    if mode == "custom" and isinstance(payload, EVENTS):
        event = payload
    elif mode == "tasks" and "result" in payload:
        event = NodeFinished(
            id=payload["id"],
            node=payload["name"],
            writes=_brief_state(payload["result"]),
            usage=_find_usage(payload["result"], payload["id"]),
            error=_brief_error(payload["error"]),
        )
    elif mode == "tasks":
        reads = _brief_state(payload["input"])
        event = NodeStarted(id=payload["id"], node=payload["name"], reads=reads)
    else:
        return None
    return Moment(at=time.perf_counter(), namespace=namespace, event=event)


def brief(value: object, limit: int = 240) -> str:
    """Shorten a value of the state for people to read."""
    match value:
        case Overwrite():
            return brief(value.value, limit)
        case list() | tuple():
            parts = [brief(item, 60) for item in value[:8]]
            text = "; ".join(parts) + (f"; … {len(value)} in all" if len(value) > 8 else "")
        case Passage():
            text = value.title or value.text
        case Claim() | Answer():
            text = value.text
        case BaseModel():
            text = ", ".join(f"{k}={brief(v, 120)}" for k, v in value if v not in (None, (), ""))
        case _:
            text = str(value)
    text = text.encode("utf-8", "replace").decode()  # lone surrogates cannot be stored
    return shorten(text, limit)


def _brief_state(state: Any) -> dict[str, str]:
    """Shorten each non-empty value, except a node's cost, which has a separate field."""
    if not isinstance(state, Mapping):
        state = dict(state) if isinstance(state, BaseModel) else {"input": state}
    texts = {str(key): brief(value) for key, value in state.items() if key != "ledger"}
    return {key: text for key, text in texts.items() if text}


def _brief_error(error: BaseException | str | None) -> str:
    """Shorten an error and remove API keys; a server sends only its text."""
    named = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else error
    return brief(scrub(named or ""), 1000)


def _find_usage(result: Any, task: str) -> Usage:
    """The cost of a task from its ledger entry; the place of a subgraph's entry ends in a bar."""
    ledger = result.get("ledger") if isinstance(result, Mapping) else None
    ledger = ledger.value if isinstance(ledger, Overwrite) else ledger
    costs = (ledger or {}).items()
    mine = (cost.usage for place, cost in costs if place.rstrip("|").endswith(f":{task}"))
    return next(mine, Usage())
