"""Puts the nodes of a graph into layers, so that its edges lead down wherever they can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Edge", "Shape", "ordered", "ranks"]


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
    """What a drawing shows of a graph."""

    nodes: tuple[str, ...]
    """Names; those that begin and end with two underscores are the graph's ends."""
    edges: tuple[Edge, ...]
    """Between these nodes."""


def ranks(nodes: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """Node → layer, from 0: the longest way to it that follows no edge back."""
    after: dict[str, list[str]] = {node: [] for node in nodes}
    for edge in edges:
        after[edge.source].append(edge.target)
    back, order = _walk(nodes, after)
    rank = dict.fromkeys(nodes, 0)
    for node in order:
        for target in after[node]:
            if (node, target) not in back:
                rank[target] = max(rank[target], rank[node] + 1)
    return rank


def _walk(
    nodes: Sequence[str], after: Mapping[str, Sequence[str]]
) -> tuple[set[tuple[str, str]], list[str]]:
    """The edges that lead back to a node on the way to them, and an order without them."""
    back: set[tuple[str, str]] = set()
    done: list[str] = []
    state: dict[str, Literal["open", "done"]] = {}
    for root in nodes:
        if root in state:
            continue
        state[root] = "open"
        stack = [(root, iter(after[root]))]
        while stack:
            node, rest = stack[-1]
            target = next(rest, None)
            if target is None:
                state[node] = "done"
                done.append(node)
                stack.pop()
            elif target not in state:
                state[target] = "open"
                stack.append((target, iter(after[target])))
            elif state[target] == "open":
                back.add((node, target))
    return back, done[::-1]


def ordered(
    nodes: Sequence[str], edges: Sequence[Edge], rank: Mapping[str, int]
) -> list[list[str]]:
    """The layers, each in the order in which its nodes' neighbours above stand."""
    layers: list[list[str]] = [[] for _ in range(max(rank.values()) + 1)]
    for node in nodes:
        layers[rank[node]].append(node)
    for n in range(1, len(layers)):
        above = {node: place for place, node in enumerate(layers[n - 1])}
        before = {
            node: [above[e.source] for e in edges if e.target == node and e.source in above]
            for node in layers[n]
        }
        layers[n].sort(key=lambda node: sum(before[node]) / max(1, len(before[node])))
    return layers
