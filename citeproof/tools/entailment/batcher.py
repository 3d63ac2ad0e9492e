"""Batches the pairs of concurrent callers, one batch at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from citeproof.tools.entailment.base import Pair


class Batcher:
    """Passes all waiting pairs to one call of `predict`, so that callers share its batches.

    While a call runs, new pairs gather for the next one. A pair that several callers wait for
    is predicted once. Works across event loops.

    Args:
        predict: Returns the scores of distinct pairs, in order; runs in a thread.
        abandoned: Whether the program may exit without waiting for it, as for a server that hangs.
    """

    def __init__(
        self, predict: Callable[[Sequence[Pair]], Sequence[float]], *, abandoned: bool = False
    ) -> None:
        self._predict = predict
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="citeproof-entailment")
        self._abandoned = abandoned
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._waiting: dict[Pair, Future[float]] = {}

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the score of each pair, in order."""
        with self._lock:
            futures = [self._waiting.setdefault(pair, Future()) for pair in pairs]
        if self._abandoned:
            threading.Thread(target=self._drain, daemon=True).start()
        else:
            self._worker.submit(self._drain)
        # Shielded, since another caller may wait for the same future when this one is cancelled.
        waits = [asyncio.shield(asyncio.wrap_future(future)) for future in futures]
        return list(await asyncio.gather(*waits))

    def _drain(self) -> None:
        with self._turn:
            with self._lock:
                batch, self._waiting = self._waiting, {}
            if batch:
                self._score(batch)

    def _score(self, batch: dict[Pair, Future[float]]) -> None:
        try:
            scores = self._predict(list(batch))
        except BaseException as error:  # every waiting caller must get it
            for future in batch.values():
                future.set_exception(error)
            return
        for future, score in zip(batch.values(), scores, strict=True):
            future.set_result(score)
