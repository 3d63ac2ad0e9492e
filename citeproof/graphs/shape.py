"""The nodes and edges of a graph, for drawings and views of runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

__all__ = ["Edge", "Shape", "drawable", "read_shape"]


@dataclass(frozen=True)
class Edge:
    """An edge from one node to another."""

    source: str
    target: str
    conditional: bool = False
    """Taken only sometimes; drawn dashed."""
    label: str = ""


@dataclass(frozen=True)
class Shape:
    """The parts of a graph that a drawing shows."""

    nodes: tuple[str, ...]
    """Names; a name that begins and ends with two underscores is the start or end of the graph."""
    edges: tuple[Edge, ...]
    """The edges between these nodes."""


def drawable(graph: Any) -> Any:
    """The drawing of a compiled LangGraph graph, without the node that handles errors.

    The edges of that node are unknown, since it returns a `Command`.
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
