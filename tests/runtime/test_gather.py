"""Several jobs at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from citeproof.runtime.gather import together


class Jobs:
    """Jobs that know how many of them are under way."""

    def __init__(self) -> None:
        self.now = self.most = self.begun = 0

    def job(self, result: object) -> Callable[[], Awaitable[object]]:
        async def run() -> object:
            self.begun += 1
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.01)
            self.now -= 1
            if isinstance(result, Exception):
                raise result
            return result

        return run


@pytest.mark.parametrize("at_once", [1, 2, 5])
async def test_results_come_in_order_from_so_many_at_a_time(at_once: int) -> None:
    jobs = Jobs()
    assert await together(map(jobs.job, "abcde"), at_once) == list("abcde")
    assert jobs.most == at_once
    assert await together([], at_once) == []


async def test_the_first_failure_is_raised_as_it_is_and_ends_the_others() -> None:
    jobs = Jobs()
    failure = KeyError("b")
    with pytest.raises(KeyError) as raised:
        await together([jobs.job("a"), jobs.job(failure), jobs.job("c"), jobs.job("d")], 1)
    assert raised.value is failure
    assert jobs.begun < 4, "the last never begins"
