"""Runs several jobs concurrently, and cancels the others if one fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def together(jobs: Iterable[Callable[[], Awaitable[T]]], at_once: int) -> list[T]:
    """The results of the jobs, in order; the first failure cancels the others and is raised.

    Args:
        jobs: Each is called once, when its turn comes.
        at_once: Maximum number of concurrent jobs, at least 1.
    """
    gate = asyncio.Semaphore(at_once)

    async def one(job: Callable[[], Awaitable[T]]) -> T:
        async with gate:
            return await job()

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(job)) for job in jobs]
    except ExceptionGroup as errors:
        # Callers expect the error itself, not the group around it.
        raise errors.exceptions[0] from errors.exceptions[0].__cause__
    return [task.result() for task in tasks]
