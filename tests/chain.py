"""Graphs of nodes that stand one after the other, and runs of graphs."""

from __future__ import annotations

import asyncio
from typing import Any

from langgraph.graph import StateGraph


def chain(state: Any, *, context: Any = None, **nodes: Any) -> Any:
    """A builder with these nodes and the edges between them, to be compiled.

    Args:
        state: What the graph passes on.
        context: The schema of its parameters.
        **nodes: By their names, the first one first.
    """
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(state, context_schema=context)
    builder.add_sequence([*nodes.items()])
    return builder.set_entry_point(next(iter(nodes)))


def run(graph: Any, how: str, *arguments: Any, **more: Any) -> Any:
    """What a graph gives by `invoke`, where `how` is "sync", or by `ainvoke`."""
    if how == "sync":
        return graph.invoke(*arguments, **more)
    return asyncio.run(graph.ainvoke(*arguments, **more))
