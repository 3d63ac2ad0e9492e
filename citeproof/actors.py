"""Ray actors that work in parallel, each with its own tools.

They are plain actors, not Ray Data. A question takes minutes, so each result must arrive as soon as
it is ready, whereas a data set returns blocks of rows, and repeats a whole block if a worker dies.
Ray itself restarts an actor that died and repeats its calls.
"""

from __future__ import annotations

import inspect
import logging
import os
import socket
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload
from urllib.parse import urlsplit

from citeproof.errors import MissingExtraError, ModelOutageError, SettingsError
from citeproof.settings import RaySettings
from citeproof.text import plain

__all__ = ["Actors"]

Tools = TypeVar("Tools", covariant=True)
Result = TypeVar("Result")
Item = TypeVar("Item")
P = ParamSpec("P")

_REPEATS = 2
"""Retries of a call whose actor died; a call that kills three actors is itself at fault."""
_REACHED_WITHIN = 10.0
"""Seconds in which a cluster must accept a connection. Ray itself tries for minutes."""
_CLOSED_WITHIN = 20.0
"""Seconds that actors have to close their tools."""
_SMALLEST_PART = 16
"""Minimum number of items per call."""
_log = logging.getLogger("citeproof")


class Actors(Generic[Tools]):
    """A pool of actors; use it as a context manager.

    The pool connects to Ray, or starts Ray on this machine and stops it at the end. An actor opens
    its tools at its first call. Functions, arguments and results travel by cloudpickle.

    Args:
        open_tools: Called without arguments in each actor; returns a context manager that yields
            the tools, and is exited at the end.
        settings: The `[ray]` section.

    Raises:
        MissingExtraError: Ray is not installed.
        SettingsError: There is no such cluster, or it has no room for so many actors.
    """

    def __init__(
        self,
        open_tools: Callable[[], AbstractContextManager[Tools]],
        settings: RaySettings | None = None,
    ) -> None:
        self._open = open_tools
        self._settings = settings or RaySettings()
        self._actors: list[Any] = []
        self._busy: Counter[int] = Counter()
        self._lock = threading.Lock()
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            opened.callback(_connect(self._settings))
            import ray

            number, cpus, gpus = _share(ray.nodes(), self._settings)
            kind = ray.remote(_Host).options(
                num_cpus=cpus,
                num_gpus=gpus,
                max_restarts=-1,
                max_task_retries=_REPEATS,
                scheduling_strategy="SPREAD",
            )
            self._actors = [kind.remote(str(Path.cwd()), self._open) for _ in range(number)]
            opened.callback(self._close)
            self._closing = opened.pop_all()
        _log.info("%d Ray actors, of %g cores and %g GPUs each.", number, cpus, gpus)
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    @property
    def number(self) -> int:
        """Number of actors."""
        return len(self._actors)

    @overload
    def submit(
        self,
        function: Callable[Concatenate[Tools, P], Awaitable[Result]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Future[Result]: ...
    @overload
    def submit(
        self, function: Callable[Concatenate[Tools, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Future[Result]: ...
    def submit(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function with the tools of the least busy actor.

        The actor awaits coroutines, several of them concurrently. The future raises the function's
        exception, or `ModelOutageError` if no actor survives the call.
        """
        with self._lock:
            place = min(range(self.number), key=lambda n: self._busy[n])
            self._busy[place] += 1
        future: Future[Any] = Future()

        def settle(done: Future[Any]) -> None:
            with self._lock:
                self._busy[place] -= 1
            if future.set_running_or_notify_cancel():
                if (error := done.exception()) is None:
                    future.set_result(done.result())
                else:
                    future.set_exception(_summarize(error))

        self._actors[place].call.remote(function, args, kwargs).future().add_done_callback(settle)
        return future

    def map_parts(
        self,
        function: Callable[[Tools, list[Item]], list[Result] | Awaitable[list[Result]]],
        items: Sequence[Item],
    ) -> list[Future[list[Result]]]:
        """Give each actor a part of the items, at least 16, in order."""
        size = max(_SMALLEST_PART, -(-len(items) // self.number))
        parts = [list(items[n : n + size]) for n in range(0, len(items), size)]
        call: Callable[..., Any] = function
        return [self.submit(call, part) for part in parts]

    def _close(self) -> None:
        import ray

        closing = [actor.close.remote() for actor in self._actors]
        with suppress(ray.exceptions.RayError):
            ray.wait(closing, num_returns=len(closing), timeout=_CLOSED_WITHIN)
        for actor in self._actors:
            ray.kill(actor)


def _summarize(error: BaseException) -> BaseException:
    """The function's own error instead of Ray's, whose class is created at run time."""
    from ray.exceptions import RayError, RayTaskError

    if isinstance(error, RayTaskError):
        return error.cause if isinstance(error.cause, Exception) else error
    if not isinstance(error, RayError):
        return error
    return ModelOutageError(
        "The Ray actors that ran the call have died",
        why=plain(str(error))[:300],
        fix="If memory ran out, set `ray.actors` lower.",
    )


class _Host:
    """The part that runs in an actor."""

    def __init__(self, folder: str, open_tools: Callable[[], AbstractContextManager[Any]]) -> None:
        with suppress(OSError):  # paths in the settings are relative to the caller's folder
            os.chdir(folder)
        self._open = open_tools
        self._closing = ExitStack()

    @cached_property
    def _tools(self) -> Any:
        # Not opened in `__init__`, whose errors Ray reports as text only.
        return self._closing.enter_context(self._open())

    async def call(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        result = function(self._tools, *args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    async def close(self) -> None:
        self._closing.close()


def _connect(settings: RaySettings) -> Callable[[], object]:
    """Connect to Ray; the result ends the connection, unless it already existed."""
    # Ray's usage statistics would go to another machine.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with MissingExtraError.unless_installed("ray", "Ray cannot distribute work"):
        import ray
    if ray.is_initialized():
        return lambda: None
    logging.getLogger("ray").setLevel(logging.ERROR)  # hides Ray's internal messages
    address = settings.address
    here: dict[str, Any] = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    try:
        if address is not None:
            _knock(address)
        ray.init(
            address=address or "local",
            log_to_driver=False,
            configure_logging=False,
            **(here if address is None else {}),
        )
    except Exception as error:  # Ray raises plain `Exception` if its processes do not start
        raise SettingsError(
            f"There is no Ray at {address}" if address else "Ray cannot be started here",
            why=plain(str(error))[:300],
            fix="Start it with `ray start --head`, or leave `ray.address` out."
            if address
            else "Name a cluster by `ray.address`.",
        ) from error
    shutdown: Callable[[], object] = ray.shutdown
    return shutdown


def _knock(address: str) -> None:
    """Raise `OSError` or `ValueError` if nothing listens at an address with a port."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    if parts.port is not None:
        socket.create_connection((parts.hostname, parts.port), _REACHED_WITHIN).close()


def _share(nodes: Sequence[dict[str, Any]], settings: RaySettings) -> tuple[int, float, float]:
    """The number of actors, and the cores and GPUs of each.

    Raises:
        SettingsError: The cluster has no room for them.
    """
    there = [node["Resources"] for node in nodes if node["Alive"]]
    machines = [(own.get("CPU", 0.0), own.get("GPU", 0.0)) for own in there if own.get("CPU")]
    if not machines:
        raise SettingsError("The Ray cluster has no cores", fix="Start a worker: `ray start`.")
    all_gpus = sum(gpus for _, gpus in machines)
    gpus = settings.gpus if settings.gpus is not None else float(all_gpus > 0)
    number = settings.actors or (max(1, int(all_gpus // gpus)) if gpus else len(machines))
    together = -(-number // len(machines))
    cpus = settings.cpus or _whole(min(cores for cores, _ in machines) / together)
    room = sum(
        int(min(cores // cpus, have // gpus if gpus else cores // cpus)) for cores, have in machines
    )
    if room < number:
        raise SettingsError(
            f"There is no room for {number} actors of {cpus:g} cores and {gpus:g} GPUs",
            why=f"the Ray cluster has {sum(cores for cores, _ in machines):g} cores and "
            f"{all_gpus:g} GPUs on {len(machines)} machines, room for {room}",
            fix="Change ray.actors, ray.cpus or ray.gpus, or add machines first.",
        )
    return number, cpus, gpus


def _whole(cpus: float) -> float:
    """Round down: Ray accepts whole cores, or a share of one core."""
    return float(int(cpus)) if cpus >= 1 else int(cpus * 100) / 100
