"""Runs async code for a synchronous caller, and blocking code for an async one."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import anyio

P = ParamSpec("P")
T = TypeVar("T")

_depth: contextvars.ContextVar[int] = contextvars.ContextVar("citeproof_sync_depth", default=0)
"""Nesting depth of synchronous calls, each of which waits for a loop other than its own."""


def run_in_background(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine on a loop that all synchronous calls share, and return its result.

    They share one loop because HTTP clients keep connections that belong to their loop. The
    coroutine sees the caller's context variables.
    """
    depth = _depth.get()
    context = contextvars.copy_context()
    context.run(_depth.set, depth + 1)

    async def task() -> T:
        return await asyncio.create_task(work(), context=context)

    done = asyncio.run_coroutine_threadsafe(task(), _loop(depth))
    try:
        return done.result()
    except BaseException:
        done.cancel()
        raise


def is_synchronous() -> bool:
    """Whether the caller runs inside a synchronous call, as `graph.invoke` does."""
    return _depth.get() > 0


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine on a separate loop, for clients that many threads and loops share.

    Coroutines on that loop never wait for one another, so the caller may block.
    """
    return asyncio.run_coroutine_threadsafe(work, _loop(-1))


@cache
def _loop(depth: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="citeproof-sync", daemon=True).start()
    return loop


async def cancelled_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, which is cancelled only once, however often its caller is.

    A cancel scope of anyio, as in servers, cancels again at each turn of the loop until it is left.
    This would cancel LangGraph's own cleanup before it begins, and its nodes would keep running.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([task])
        raise
    return task.result()


def in_thread(work: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Wrap a blocking function for async code; it runs in a thread."""

    @wraps(work)
    async def run(*args: P.args, **options: P.kwargs) -> T:
        return await asyncio.to_thread(work, *args, **options)

    return run


async def call_in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of somebody else's, which may be async; a plain one runs in a thread."""
    call = getattr(work, "__call__", None)  # noqa: B004
    if inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(call):
        return await work(*arguments)
    done = await asyncio.to_thread(work, *arguments)
    return await done if inspect.isawaitable(done) else done
