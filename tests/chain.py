"""Linear graphs of nodes, and runs of graphs."""

from __future__ import annotations

import asyncio
from typing import Any

from langgraph.graph import StateGraph


def chain(state: Any, *, context: Any = None, **nodes: Any) -> Any:
    """A builder with these nodes in sequence, ready to compile.

    Args:
        state: The state schema of the graph.
        context: The schema of its parameters.
        **nodes: The nodes by name, in order.
    """
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(state, context_schema=context)
    builder.add_sequence([*nodes.items()])
    return builder.set_entry_point(next(iter(nodes)))


def run(graph: Any, how: str, *arguments: Any, **more: Any) -> Any:
    """The output of a graph, by `invoke` if `how` is "sync", else by `ainvoke`."""
    if how == "sync":
        return graph.invoke(*arguments, **more)
    return asyncio.run(graph.ainvoke(*arguments, **more))
