"""Concurrent callers share batches, and each gets its own scores."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from citeproof.tools.entailment import Pair
from citeproof.tools.entailment.batcher import Batcher


class Slow:
    """Scores by the hypothesis; the first call waits until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.batches: list[list[str]] = []

    def __call__(self, batch: Sequence[Pair]) -> list[float]:
        """Score a batch."""
        self.go.wait(5)
        self.batches.append([pair.hypothesis for pair in batch])
        return [float(pair.hypothesis) for pair in batch]


def pairs(*numbers: int) -> list[Pair]:
    return [Pair("p", str(number)) for number in numbers]


async def test_pairs_that_come_while_a_batch_runs_make_the_next_one() -> None:
    slow = Slow()
    batcher = Batcher(slow)
    first = asyncio.create_task(batcher.scores(pairs(1)))
    await asyncio.sleep(0.05)
    rest = [asyncio.create_task(batcher.scores(pairs(n))) for n in (2, 3, 2)]
    await asyncio.sleep(0.05)
    slow.go.set()
    assert await first == [1.0]
    assert [await task for task in rest] == [[2.0], [3.0], [2.0]]
    assert slow.batches == [["1"], ["2", "3"]]


async def test_an_error_reaches_everyone_who_waits_and_the_next_call_works() -> None:
    slow = Slow()
    slow.go.set()
    batcher = Batcher(slow)
    with pytest.raises(ValueError, match="could not convert"):
        await batcher.scores([Pair("p", "bad")])
    assert await batcher.scores(pairs(4)) == [4.0]


async def test_a_cancelled_caller_does_not_take_the_scores_of_others() -> None:
    slow = Slow()
    batcher = Batcher(slow)
    blocker = asyncio.create_task(batcher.scores(pairs(1)))
    await asyncio.sleep(0.05)
    leaves = asyncio.create_task(batcher.scores(pairs(2)))
    stays = asyncio.create_task(batcher.scores(pairs(2)))
    await asyncio.sleep(0.05)
    leaves.cancel()
    await asyncio.sleep(0)
    slow.go.set()
    assert await blocker == [1.0]
    assert await stays == [2.0]


def test_it_works_from_one_event_loop_after_another() -> None:
    slow = Slow()
    slow.go.set()
    batcher = Batcher(slow)
    for n in range(3):
        assert asyncio.run(batcher.scores(pairs(n))) == [float(n)]
