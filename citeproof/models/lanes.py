"""Independent forward passes on a CPU, side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from citeproof.models.cores import cores

Part = TypeVar("Part")
Result = TypeVar("Result")


def in_lanes(run: Callable[[Part], Result], parts: Sequence[Part], device: str) -> list[Result]:
    """The results of `run` for each part, in order.

    On a CPU as many parts run at once as there are cores, each on a core of its own: one pass on
    all cores leaves some idle between its products. (On two cores the entailment model takes 17%
    less time so, the embedder 20% less.) With fewer than two parts for each core the last ones
    would run alone, so that each part gets all cores, one after the other, as on a GPU.

    Args:
        run: A forward pass of torch. It may run in other threads, where torch's modes
            (autocast, inference mode) are not those of the caller.
        parts: Its arguments, the longest first.
        device: torch's type of device: `cpu`, `cuda`, `mps`.
    """
    lanes = lanes_of(device)
    if lanes == 1 or len(parts) < 2 * lanes:
        return [run(part) for part in parts]
    with ThreadPoolExecutor(lanes, "citeproof-lane", initializer=_alone) as pool:
        return list(pool.map(run, parts))


def lanes_of(device: str) -> int:
    """How many parts `in_lanes` runs at once."""
    import torch

    return min(cores(), torch.get_num_threads()) if device == "cpu" else 1


def take_turns(model: Any) -> None:
    """Let the lanes of a sentence-transformers model tokenize one after the other.

    A fast tokenizer that two threads use at once may fail ("Already borrowed").
    """
    turn, preprocess = threading.Lock(), model.preprocess

    def alone(*arguments: Any, **named: Any) -> Any:
        with turn:
            return preprocess(*arguments, **named)

    model.preprocess = alone


def _alone() -> None:
    import torch
    from threadpoolctl import threadpool_limits

    torch.get_num_threads()  # at its first question in a thread, torch sets the number
    # torch's own call would bind new threads as well. Before threadpoolctl 3.7 this one could wait
    # for ever for a thread that imports a module.
    threadpool_limits(1, user_api="openmp")
