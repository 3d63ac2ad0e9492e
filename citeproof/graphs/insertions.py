"""The caller's own nodes, inserted after a node of a graph or between two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from langgraph.graph import StateGraph

from citeproof.errors import SettingsError
from citeproof.text import snake_case

__all__ = ["Insertions", "Seams"]

Insertions: TypeAlias = (
    Mapping[str, Any] | Mapping[tuple[str, str], Any] | Mapping[str | tuple[str, str], Any]
)
"""Name of a node → the node to insert after it; or a pair of names → the node to insert between."""


class Seams:
    """Where nodes are inserted in a graph; adds the nodes to it, and the edges as they are used."""

    def __init__(self, graph: StateGraph[Any, Any, Any, Any], nodes: Insertions) -> None:
        self._graph = graph
        self._inserted: dict[Any, str] = {}
        names = Counter[str]()
        for seam, node in nodes.items():
            name = _name_of(node)
            names[name] += 1  # the same node may be inserted in several places
            self._inserted[seam] = name if names[name] == 1 else f"{name}_{names[name]}"
            graph.add_node(self._inserted[seam], node)
        self._unused = set(self._inserted)

    def refuse(self, names: Iterable[str]) -> None:
        """Raise a `SettingsError` if an inserted node has one of these names."""
        for name in set(self._inserted.values()).intersection(names):
            raise SettingsError(
                f"No node named {name} can be inserted",
                why="the graph has a node of this name",
                fix="Give the class or function of yours another name.",
            )

    def share(self, source: str, other: str, targets: Sequence[str]) -> None:
        """Let nodes inserted between a source and its targets also follow another source."""
        for target in targets:
            if (source, target) in self._inserted:
                self._inserted.setdefault((other, target), self._inserted[source, target])

    def behind(self, source: str) -> str:
        """Return the node that the outgoing edges of a node start from."""
        if source in self._unused:
            self._unused.discard(source)
            self._graph.add_edge(source, self._inserted[source])
        return self._inserted.get(source, source)

    def between(self, source: str, target: str) -> str:
        """Return the node that the edge between two nodes leads to."""
        seam = (source, target)
        if seam in self._unused:
            self._unused.discard(seam)
            self._graph.add_edge(self._inserted[seam], target)
        return self._inserted.get(seam, target)

    def check(self) -> None:
        """Raise a `SettingsError` if a node is inserted after one that does not exist."""
        if self._unused:
            seams = ", ".join(map(str, self._unused))
            known = [name for name in self._graph.nodes if name not in self._inserted.values()]
            raise SettingsError(
                f"Nothing can be inserted after {seams}",
                fix=f"Nodes of this graph: {', '.join(known)}.",
            )


def _name_of(node: Any) -> str:
    """A node's name in snake case, taken from its class, function or graph."""
    name = getattr(node, "__name__", "") or getattr(node, "name", "") or type(node).__name__
    return snake_case(str(name))
