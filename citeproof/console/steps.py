"""A run's moments, gathered step by step: one step for each time that a node ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from citeproof.runtime.events import ClaimDelta, Event
from citeproof.runtime.moments import Moment, NodeFinished, NodeStarted
from citeproof.types import Usage

_DEEPEST = 8
"""Graphs in graphs; what runs deeper is put at this depth."""


@dataclass
class Step:
    """One run of a node."""

    node: str
    namespace: tuple[str, ...]
    """The nodes that it ran inside of, as LangGraph names them."""
    began: float
    """Seconds since the run began."""
    ended: float
    reads: dict[str, str] = field(default_factory=dict)
    writes: dict[str, str] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    error: str = ""
    events: list[Event] = field(default_factory=list)
    """The events inside, in order; without the pieces of a stream."""
    inner: list[Step] = field(default_factory=list)
    """Steps of a graph that ran inside the node, in order."""
    open: bool = True
    number: int = 0
    """In the run, from 1."""

    def all(self) -> Iterator[Step]:
        """This step, and those inside it."""
        yield self
        for step in self.inner:
            yield from step.all()


def gather_steps(moments: Sequence[Moment]) -> list[Step]:
    """The steps of a run, in order of their beginning; those of a graph inside a node in its step.

    An event belongs to the step of its graph, or of a graph inside, that began last and is still
    open. Where nodes of a graph run side by side this is a guess: events do not name their node.
    """
    zero = moments[0].at if moments else 0.0
    found: list[Step] = []
    known: dict[str, Step] = {}
    """Task id → the last step with it; after a review a task begins anew."""
    for moment in moments:
        now, event = moment.at - zero, moment.event
        match event:
            case NodeStarted():
                step = Step(event.node, moment.namespace, now, now, reads=event.reads)
                _siblings(moment.namespace, known, found).append(step)
                known.pop(event.id, None)  # so that the last one known began last
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
        if step.open:  # the run was broken off
            step.ended = moments[-1].at - zero
    every = (inside for step in found for inside in step.all())
    for number, step in enumerate(every, start=1):
        step.number = number
    return found


def _siblings(namespace: tuple[str, ...], known: dict[str, Step], found: list[Step]) -> list[Step]:
    """Where a step of a graph belongs: inside the node that the graph runs in, if it is known."""
    for depth in reversed(range(min(len(namespace), _DEEPEST))):
        outer = known.get(namespace[depth].rpartition(":")[2])
        if outer is not None and outer.namespace == namespace[:depth]:
            return outer.inner
    return found


def _find_place(namespace: tuple[str, ...], known: dict[str, Step]) -> Step:
    """The step of a graph, or of a graph inside, that began last and is open; else the last."""
    depth, latest = len(namespace), reversed(known.values())
    within = (step for step in latest if step.open and step.namespace[:depth] == namespace)
    return next(within, next(reversed(known.values())))
