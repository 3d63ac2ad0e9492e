"""The trace of a run as a page shows it: its steps, and the way that it took through the graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from citeproof.console.diagram import Taken, draw_svg
from citeproof.console.steps import Step, gather_steps
from citeproof.graphs.registry import METHODS
from citeproof.graphs.shape import Edge, Shape, read_shape
from citeproof.runtime.events import LLMCalled
from citeproof.runtime.moments import Moment
from citeproof.text import count, seconds

_SHORTEST_FOLD = 200
"""Characters; a shorter common beginning is not worth folding."""


class Trace(NamedTuple):
    """A run."""

    told: str
    """Steps, calls and time."""
    steps: list[Step]
    length: float
    """Seconds."""
    draw: Callable[..., Markup]
    """Draws the graph of steps, given the number of the step that they ran inside of, if any."""
    shared: Callable[[str], int]
    """How many characters a prompt begins with as the one does that it was given before."""


def timeline(moments: Sequence[Moment], graph: Shape | None = None) -> Trace | None:
    """The trace; None where no node has run.

    By default the graph is that of the smallest method that has all nodes that ran, or what those
    nodes show of it.
    """
    found = gather_steps(moments)
    if not found:
        return None
    every = [inside for step in found for inside in step.all()]
    length = max(step.ended for step in every) or 1.0
    calls = sum(isinstance(event, LLMCalled) for step in every for event in step.events)
    told = f"{count(len(every), 'step')} · {count(calls, 'LLM call')} · {seconds(length)}"
    before = ""

    def shared_length(prompt: str) -> int:
        nonlocal before
        pairs = zip(before, prompt, strict=False)
        shortest = min(len(before), len(prompt))
        same = next((n for n, (mine, other) in enumerate(pairs) if mine != other), shortest)
        before = prompt
        end = prompt.rfind("\n", 0, same) + 1  # whole lines
        return end if end >= _SHORTEST_FOLD else 0

    def draw(inner: Sequence[Step], number: int = 0) -> Markup:
        return _draw(inner, f"graph-{number}") if number else _draw(inner, "graph", graph)

    return Trace(told, found, length, draw, shared_length)


def _draw(found: Sequence[Step], name: str, graph: Shape | None = None) -> Markup:
    """The graph of the steps, with the way that they took; `name` tells it from others."""
    graph = graph or _method({step.node for step in found}) or _shape_of(found)
    edges = Counter(_edges(graph, found))
    ends = {node for edge in edges for node in edge if node in ("__start__", "__end__")}
    mine = {node: [step for step in found if step.node == node] for node in graph.nodes}
    ran = {node: own for node, own in mine.items() if own}
    taken = Taken(
        name=name,
        facts={**dict.fromkeys(ends, ""), **{node: _facts(own) for node, own in ran.items()}},
        edges=edges,
        links={node: f"#step-{own[0].number}" for node, own in ran.items()},
    )
    return draw_svg(graph.nodes, graph.edges, taken)


def _edges(graph: Shape, found: Sequence[Step]) -> Iterable[tuple[str, str]]:
    """The edges by which each step was come to, and the last one left."""
    known = {(edge.source, edge.target) for edge in graph.edges}
    come = ["__start__"]
    for step in found:
        ways = [(source, step.node) for source in reversed(come)]
        if come[-1] != step.node or ways[0] in known:  # else it began anew after a review
            yield from [way for way in ways if way in known][:1]
        come.append(step.node)
    if not found[-1].open and (come[-1], "__end__") in known:
        yield come[-1], "__end__"


def _facts(own: Sequence[Step]) -> str:
    took = seconds(sum(step.ended - step.began for step in own))
    return took if len(own) == 1 else f"{len(own)} × · {took}"


def _method(nodes: set[str]) -> Shape | None:
    """The graph of the method that has these nodes and the fewest others."""
    shapes = (read_shape(method.sketch()) for method in METHODS.values())
    fitting = (own for own in shapes if nodes <= set(own.nodes))
    return min(fitting, key=lambda own: len(own.nodes), default=None)


def _shape_of(found: Sequence[Step]) -> Shape:
    """As much of a graph as a run shows."""
    edges = dict.fromkeys((step.node, after.node) for step, after in pairwise(found))
    return Shape(
        tuple(dict.fromkeys(step.node for step in found)), tuple(Edge(*edge) for edge in edges)
    )
