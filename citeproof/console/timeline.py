"""The trace of a run for a page: its steps, and its path through the graph.

A step is one run of a node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from os.path import commonprefix
from typing import NamedTuple

from markupsafe import Markup

from citeproof.console.drawing import Taken, draw_svg
from citeproof.graphs.registry import METHODS
from citeproof.graphs.shape import Edge, Shape, read_shape
from citeproof.runtime.events import ClaimDelta, Event, LLMCalled
from citeproof.runtime.moments import Moment, NodeFinished, NodeStarted
from citeproof.text import count, seconds
from citeproof.types import Usage

_DEEPEST = 8
"""Nesting depth of graphs; deeper steps are shown at this depth."""
_SHORTEST_FOLD = 200
"""Characters; a shorter common beginning of prompts is not folded."""


@dataclass
class Step:
    """One run of a node."""

    node: str
    namespace: tuple[str, ...]
    """The nodes around it, as LangGraph names them."""
    began: float
    """Seconds since the run began."""
    ended: float
    reads: dict[str, str] = field(default_factory=dict)
    writes: dict[str, str] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    error: str = ""
    events: list[Event] = field(default_factory=list)
    """Events of the step in order, without the pieces of a stream."""
    inner: list[Step] = field(default_factory=list)
    """Steps of a graph inside the node, in order."""
    open: bool = True
    number: int = 0
    """Position in the run, from 1."""

    def all(self) -> Iterator[Step]:
        """Yield this step and the steps inside it."""
        yield self
        for step in self.inner:
            yield from step.all()


def gather_steps(moments: Sequence[Moment]) -> list[Step]:
    """Return the steps of a run by start time, with the steps of inner graphs inside their nodes.

    An event goes to the step of its graph, or of an inner graph, that began last and is still open.
    If nodes of a graph run in parallel this is a guess, because events do not name their node.
    """
    zero = moments[0].at if moments else 0.0
    found: list[Step] = []
    known: dict[str, Step] = {}
    """Task id → its latest step; after a review, a task starts again."""
    for moment in moments:
        now, event = moment.at - zero, moment.event
        match event:
            case NodeStarted():
                step = Step(event.node, moment.namespace, now, now, reads=event.reads)
                _siblings(moment.namespace, known, found).append(step)
                known.pop(event.id, None)  # keeps `known` in order of start
                known[event.id] = step
            case NodeFinished() if event.id in known:
                step = known[event.id]
                step.ended, step.open = now, False
                step.writes, step.usage, step.error = event.writes, event.usage, event.error
            case NodeFinished() | ClaimDelta():
                pass
            case _ if known:
                _find_place(moment.namespace, known).events.append(event)
            case _:
                pass
    for step in known.values():
        if step.open:  # the run was interrupted
            step.ended = moments[-1].at - zero
    every = (inside for step in found for inside in step.all())
    for number, step in enumerate(every, start=1):
        step.number = number
    return found


def _siblings(namespace: tuple[str, ...], known: dict[str, Step], found: list[Step]) -> list[Step]:
    """Return the list that a step belongs to: that of the node around its graph, if known."""
    for depth in reversed(range(min(len(namespace), _DEEPEST))):
        outer = known.get(namespace[depth].rpartition(":")[2])
        if outer is not None and outer.namespace == namespace[:depth]:
            return outer.inner
    return found


def _find_place(namespace: tuple[str, ...], known: dict[str, Step]) -> Step:
    """Return the last open step of a graph or its inner graphs, or else the last step of all."""
    depth, latest = len(namespace), reversed(known.values())
    within = (step for step in latest if step.open and step.namespace[:depth] == namespace)
    return next(within, next(reversed(known.values())))


class Trace(NamedTuple):
    """The trace of a run."""

    told: str
    """Numbers of steps and calls, and the time."""
    steps: list[Step]
    length: float
    """Seconds."""
    draw: Callable[..., Markup]
    """Draws the graph of steps, given the number of the step around them, if any."""
    shared: Callable[[str], int]
    """Number of leading characters that a prompt shares with the one of the previous call."""


def timeline(moments: Sequence[Moment], graph: Shape | None = None) -> Trace | None:
    """Return the trace, or None if no node has run.

    The graph defaults to that of the smallest method with all nodes that ran, or else to what these
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
        same = len(commonprefix((before, prompt)))  # noqa: RUF071 — by letters, as meant
        before = prompt
        end = prompt.rfind("\n", 0, same) + 1  # whole lines
        return end if end >= _SHORTEST_FOLD else 0

    def draw(inner: Sequence[Step], number: int = 0) -> Markup:
        return _draw(inner, f"graph-{number}") if number else _draw(inner, "graph", graph)

    return Trace(told, found, length, draw, shared_length)


def _draw(found: Sequence[Step], name: str, graph: Shape | None = None) -> Markup:
    """Draw the graph of the steps and their path through it; `name` is unique in the page."""
    graph = graph or _method({step.node for step in found}) or _shape_of(found)
    edges = Counter(_edges(graph, found))
    ends = {node for edge in edges for node in edge if node in ("__start__", "__end__")}
    mine = {node: [step for step in found if step.node == node] for node in graph.nodes}
    ran = {node: own for node, own in mine.items() if own}
    facts = dict.fromkeys(ends, "")
    for node, own in ran.items():
        took = seconds(sum(step.ended - step.began for step in own))
        facts[node] = took if len(own) == 1 else f"{len(own)} × · {took}"
    links = {node: f"#step-{own[0].number}" for node, own in ran.items()}
    return draw_svg(graph.nodes, graph.edges, Taken(name, facts, edges, links))


def _edges(graph: Shape, found: Sequence[Step]) -> Iterable[tuple[str, str]]:
    """Yield the edge by which the run reached each step, and the one to the end."""
    known = {(edge.source, edge.target) for edge in graph.edges}
    come = ["__start__"]
    for step in found:
        ways = [(source, step.node) for source in reversed(come)]
        if come[-1] != step.node or ways[0] in known:  # otherwise it started again after a review
            yield from [way for way in ways if way in known][:1]
        come.append(step.node)
    if not found[-1].open and (come[-1], "__end__") in known:
        yield come[-1], "__end__"


def _method(nodes: set[str]) -> Shape | None:
    """Find the graph of the method with these nodes and the fewest others."""
    fitting = (own for own in _method_shapes() if nodes <= set(own.nodes))
    return min(fitting, key=lambda own: len(own.nodes), default=None)


@cache
def _method_shapes() -> list[Shape]:
    return [read_shape(method.sketch()) for method in METHODS.values()]


def _shape_of(found: Sequence[Step]) -> Shape:
    """Return as much of a graph as a run shows."""
    nodes = dict.fromkeys(step.node for step in found)
    edges = dict.fromkeys((step.node, after.node) for step, after in pairwise(found))
    return Shape(tuple(nodes), tuple(Edge(*edge) for edge in edges))
