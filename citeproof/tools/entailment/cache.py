"""Caches entailment scores in memory, and optionally in a file."""

from __future__ import annotations

import asyncio
import hashlib
import math
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from citeproof.errors import StoreError
from citeproof.runtime.events import PairsScored, emit
from citeproof.runtime.meter import spend
from citeproof.tools.entailment.base import (
    Entailment,
    Pair,
    QuickEntailment,
    Score,
    collect_unread,
    contradiction_of,
)
from citeproof.tools.entailment.close_reader import name_scores
from citeproof.tools.entailment.token_labels import UnsupportedSpan
from citeproof.types import Usage

MOST = 20_000
"""Most scores kept in memory; the oldest are dropped first."""
_BATCH = 256
"""Pairs computed between two writes; an interruption loses at most these. Much smaller batches
would leave actors or a GPU idle."""
_SELECT = "SELECT score, contradiction FROM scores WHERE key = ?"


class CachedEntailment:
    """An entailment model that never computes the same pair twice.

    A score that stands for an unreadable reply is not kept, so that the model is asked again.

    Args:
        model: The model that computes.
        file: An SQLite file that outlives the process. Scores are stored by model name, so
            several models can share a file.
    """

    def __init__(self, model: Entailment, *, file: Path | None = None) -> None:
        self.model = model
        self.name = model.name
        self.threshold = model.threshold
        self.reads_many = bool(getattr(model, "reads_many", False))
        self.final_below = float(getattr(model, "final_below", math.inf))
        """Quick scores below this are final; without a limit, all are."""
        self.place = str(getattr(model, "place", ""))
        """The model's server, or that of a cascade's first model; empty for this process."""
        self.spans: Callable[[Pair], Awaitable[list[UnsupportedSpan]]] | None = getattr(
            model, "spans", None
        )
        """Marks the unsupported parts of a hypothesis; None if the model cannot."""
        self._scores: dict[Pair, float] = {}
        self._lock = threading.Lock()  # runs in several event loops share an instance
        self._file = _ScoreFile(file, model.name) if file is not None else None

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of entailment of each pair, in order; computes only new pairs.

        Raises:
            StoreError: The file cannot be read or written.
        """
        known = await self._find(pairs)
        new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        step = _BATCH if self._file is not None else max(1, len(new))
        for begin in range(0, len(new), step):
            some = new[begin : begin + step]
            with collect_unread() as unread:
                computed = dict(zip(some, await self.model.scores(some), strict=True))
            kept = {pair: score for pair, score in computed.items() if pair not in unread}
            if self._file is not None:
                await asyncio.to_thread(self._file.write, kept)
            self._keep(kept)
            known |= computed
        return self._report([(pair, known[pair]) for pair in pairs])

    async def quick_scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return scores, in order: the model's quick ones, if it has such, for new pairs.

        Raises:
            StoreError: The file cannot be read or written.
        """
        if not isinstance(self.model, QuickEntailment):
            return await self.scores(pairs)
        known = await self._find(pairs)
        new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        known |= dict(zip(new, await self.model.quick_scores(new) if new else (), strict=True))
        return self._report([(pair, known[pair]) for pair in pairs], quick=True)

    async def _find(self, pairs: Sequence[Pair]) -> dict[Pair, float]:
        """Return a copy of the kept scores, which other callers may meanwhile push out."""
        with self._lock:
            known = {pair: self._scores[pair] for pair in pairs if pair in self._scores}
        if self._file is not None and (new := [pair for pair in pairs if pair not in known]):
            found = await asyncio.to_thread(self._file.read, new)
            self._keep(found)
            known |= found
        return known

    def _keep(self, scores: Mapping[Pair, float]) -> None:
        with self._lock:
            self._scores |= scores
            while len(self._scores) > MOST:
                del self._scores[next(iter(self._scores))]

    def _report(self, scored: Sequence[tuple[Pair, float]], *, quick: bool = False) -> list[float]:
        """Count and report scores, and return them."""
        spend(Usage(nli_pairs=len(scored)))
        told = tuple((pair.premise, pair.hypothesis, score) for pair, score in scored)
        emit(PairsScored(model=self.name, pairs=told, quick=quick))
        return [score for _, score in scored]


class _ScoreFile:
    """Scores by hashes of (model, premise, hypothesis); stores no text."""

    def __init__(self, path: Path, model: str) -> None:
        self._path = path
        self._model = name_scores(model)
        self._lock = threading.Lock()

    def read(self, pairs: Sequence[Pair]) -> dict[Pair, float]:
        keys = {self._key(pair): pair for pair in pairs}
        found: dict[Pair, float] = {}
        with self._lock, self._open() as database:
            for key, pair in keys.items():
                row = database.execute(_SELECT, (key,)).fetchone()
                if row is not None:
                    found[pair] = Score(*row)
        return found

    def write(self, scores: dict[Pair, float]) -> None:
        rows = [(self._key(pair), score, contradiction_of(score)) for pair, score in scores.items()]
        with self._lock, self._open() as database:
            database.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?, ?)", rows)

    def _key(self, pair: Pair) -> bytes:
        text = "\x00".join((self._model, pair.premise, pair.hypothesis))
        return hashlib.sha256(text.encode()).digest()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the database, and commit changes if the block succeeds."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=30)) as database, database:
                database.execute(
                    "CREATE TABLE IF NOT EXISTS scores "
                    "(key BLOB PRIMARY KEY, score REAL NOT NULL, contradiction REAL)"
                )
                yield database
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"The score file {self._path} cannot be used",
                why=str(error),
                fix="Name another file in entailment.cache, or delete this one.",
            ) from error
