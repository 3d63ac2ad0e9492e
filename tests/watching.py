"""Runs whose every moment is looked at."""

from __future__ import annotations

from typing import Any

from citeproof.runtime.moments import STREAM, Moment, NodeFinished, NodeStarted, observe


async def watch(graph: Any, given: Any, config: Any = None) -> list[Moment]:
    """Run a graph; what happens in it."""
    seen = [observe(*part) async for part in graph.astream(given, config, **STREAM)]
    return [moment for moment in seen if moment is not None]


def started(moments: list[Moment]) -> list[str]:
    """The nodes that began, those of graphs inside as well."""
    return [own.event.node for own in moments if isinstance(own.event, NodeStarted)]


def finished(moments: list[Moment]) -> list[NodeFinished]:
    """What the nodes that ended left."""
    return [own.event for own in moments if isinstance(own.event, NodeFinished)]
