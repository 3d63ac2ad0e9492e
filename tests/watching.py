"""Runs whose every moment is recorded."""

from __future__ import annotations

from typing import Any

from citeproof.runtime.moments import STREAM, Moment, NodeFinished, NodeStarted, observe


async def watch(graph: Any, given: Any, config: Any = None) -> list[Moment]:
    """Run a graph, and return its moments."""
    seen = [observe(*part) async for part in graph.astream(given, config, **STREAM)]
    return [moment for moment in seen if moment is not None]


def started(moments: list[Moment]) -> list[str]:
    """The nodes that began, including those of subgraphs."""
    return [own.event.node for own in moments if isinstance(own.event, NodeStarted)]


def finished(moments: list[Moment]) -> list[NodeFinished]:
    """The final events of the nodes that ended."""
    return [own.event for own in moments if isinstance(own.event, NodeFinished)]
