"""A run's events, gathered step by step: one step for each time that a node ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from citeproof.tools.events import ClaimDelta, Event, NodeFinished, NodeStarted
from citeproof.types import Usage

__all__ = ["Step", "steps"]


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
    open: bool = True


def steps(events: Sequence[tuple[float, Event]]) -> list[Step]:
    """The steps of a run, in order of their beginning.

    An event belongs to the step that began last and is still open. Where nodes run side by
    side this is a guess, as events do not name their node.

    Args:
        events: Each with its time in seconds, on any clock.
    """
    zero = events[0][0] if events else 0.0
    found: list[Step] = []
    for time, event in events:
        now = time - zero
        running = [step for step in found if step.open]
        match event:
            case NodeStarted():
                found.append(Step(event.node, now, now))
            case NodeFinished():
                mine = next((step for step in running if step.node == event.node), None)
                if mine is None:  # its start was not recorded
                    mine = Step(event.node, max(0.0, now - event.usage.seconds), now)
                    found.append(mine)
                mine.ended, mine.open = now, False
                mine.reads, mine.writes, mine.usage = event.reads, event.writes, event.usage
            case ClaimDelta():
                pass
            case _ if running:
                running[-1].events.append(event)
            case _ if found:
                found[-1].events.append(event)
            case _:
                pass
    for step in found:
        if step.open and events:  # the run was broken off
            step.ended = events[-1][0] - zero
    return found
