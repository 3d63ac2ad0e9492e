"""Runs independent forward passes on a CPU in parallel."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from citeproof.models.cores import cores

Part = TypeVar("Part")
Result = TypeVar("Result")


def in_lanes(run: Callable[[Part], Result], parts: Sequence[Part], device: str) -> list[Result]:
    """Return the results of `run`, a forward pass of torch, for each part, longest first, in order.

    On a CPU, one part runs on each core at a time, because one pass on all cores leaves some idle
    between its matrix products. (On two cores this saves the entailment model 17% of the time, and
    the embedder 20%.) With fewer than two parts per core, the last ones would run alone, so the
    parts run one after the other on all cores, as on a GPU. Other threads don't inherit the
    caller's torch modes (autocast, inference mode).
    """
    lanes = lanes_of(device)
    if lanes == 1 or len(parts) < 2 * lanes:
        return [run(part) for part in parts]
    with ThreadPoolExecutor(lanes, "citeproof-lane", initializer=_alone) as pool:
        return list(pool.map(run, parts))


def lanes_of(device: str) -> int:
    """Return how many parts `in_lanes` runs at once."""
    import torch

    return min(cores(), torch.get_num_threads()) if device == "cpu" else 1


def take_turns(model: Any) -> None:
    """Let only one lane of a sentence-transformers model tokenize at a time.

    A fast tokenizer may fail if two threads use it at once ("Already borrowed").
    """
    turn, preprocess = threading.Lock(), model.preprocess

    def alone(*arguments: Any, **named: Any) -> Any:
        with turn:
            return preprocess(*arguments, **named)

    model.preprocess = alone


def _alone() -> None:
    import torch
    from threadpoolctl import threadpool_limits

    torch.get_num_threads()  # torch sets the number at the first call in each thread
    # torch's own function would also affect threads created later. Before threadpoolctl 3.7 this
    # one could wait forever for a thread that imports a module.
    threadpool_limits(1, user_api="openmp")
