"""The nodes and edges of a graph, for those who draw it or look at its runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

__all__ = ["Edge", "Shape", "drawable", "read_shape"]


@dataclass(frozen=True)
class Edge:
    """A way from one node to another."""

    source: str
    target: str
    conditional: bool = False
    """Taken only sometimes; drawn dashed."""
    label: str = ""


@dataclass(frozen=True)
class Shape:
    """The parts of a graph that a drawing shows."""

    nodes: tuple[str, ...]
    """Names; those that begin and end with two underscores are the graph's ends."""
    edges: tuple[Edge, ...]
    """Between these nodes."""


def drawable(graph: Any) -> Any:
    """The drawing of a compiled LangGraph graph, without the node that handles errors.

    Its edges are unknown: a `Command` leads out of it.
    """
    drawing = graph.get_graph()
    drawing.nodes.pop("__default_error_handler__", None)
    return drawing


def read_shape(graph: Any) -> Shape:
    """Nodes and edges of a compiled LangGraph graph."""
    drawing = drawable(graph)
    ways = Counter(edge.source for edge in drawing.edges)
    edges = (
        Edge(
            edge.source,
            edge.target,
            edge.conditional and ways[edge.source] > 1,
            str(edge.data or ""),
        )
        for edge in drawing.edges
    )
    return Shape(tuple(drawing.nodes), tuple(edges))
