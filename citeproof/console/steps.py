"""A run's events, gathered step by step: one step for each time that a node ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from citeproof.tools.events import (
    ClaimDelta,
    Event,
    NodeFinished,
    NodeStarted,
    ReviewRequested,
)
from citeproof.types import Usage

__all__ = ["Step", "steps"]

_DEEPEST = 8
"""Graphs in graphs; what begins below that is put beside."""


@dataclass
class Step:
    """One run of a node."""

    node: str
    began: float
    """Seconds since the run began."""
    ended: float
    reads: dict[str, str] = field(default_factory=dict)
    writes: dict[str, str] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    events: list[Event] = field(default_factory=list)
    """What happened inside, in order; without starts, ends and the pieces of a stream."""
    inner: list[Step] = field(default_factory=list)
    """Steps of a graph that ran inside the node, in order."""
    outer: Step | None = field(default=None, repr=False, compare=False)
    """The step that this one ran inside."""
    open: bool = True

    def all(self) -> Iterator[Step]:
        """This step, and those inside it."""
        yield self
        for step in self.inner:
            yield from step.all()

    def holds(self) -> bool:
        """Whether what begins now can have begun inside it: it goes on, and all around it does."""
        depth, step = 0, self
        while step.open and step.outer is not None and depth < _DEEPEST:
            depth, step = depth + 1, step.outer
        return step.open and depth < _DEEPEST


def steps(events: Sequence[tuple[float, Event]]) -> list[Step]:
    """The steps of a run, in order of their beginning; those of a graph inside a node in its step.

    An event, and a step, belongs to the step that began last and is still open. Where nodes run
    side by side this is a guess, as events do not name their node.

    Args:
        events: Each with its time in seconds, on any clock.
    """
    zero = events[0][0] if events else 0.0
    found: list[Step] = []
    running: list[Step] = []
    for time, event in events:
        now = time - zero
        match event:
            case NodeStarted():
                running.append(_begun(event.node, now, running, found))
            case NodeFinished():
                named = [n for n, step in enumerate(running) if step.node == event.node]
                if named:
                    mine = running.pop(named[-1])
                else:  # its start was not recorded
                    mine = _begun(event.node, max(0.0, now - event.usage.seconds), running, found)
                mine.ended, mine.open = now, False
                mine.reads, mine.writes, mine.usage = event.reads, event.writes, event.usage
            case ClaimDelta():
                pass
            case ReviewRequested() if running:
                running[-1].events.append(event)
                for step in running:  # the node will begin anew
                    step.ended, step.open = now, False
                running = []
            case _ if running:
                running[-1].events.append(event)
            case _ if found:
                found[-1].events.append(event)
            case _:
                pass
    for step in (inside for top in found for inside in top.all()):
        if step.open:  # the run was broken off
            step.ended = events[-1][0] - zero
    return found


def _begun(node: str, now: float, running: Sequence[Step], found: list[Step]) -> Step:
    """A new step, put where it belongs."""
    outer = next((step for step in reversed(running) if step.holds()), None)
    step = Step(node, now, now, outer=outer)
    (found if outer is None else outer.inner).append(step)
    return step
