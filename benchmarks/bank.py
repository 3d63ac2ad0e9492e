"""Measures how fast a growing memory bank answers.

    python benchmarks/bank.py

Needs no data and no model: cases consist of random words, and the embedder returns random vectors
of 384 numbers, so only the bank is timed. Writes benchmarks/results/bank.md.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from common import RESULTS, WORDS, conditions, megabytes, table, timed, write
from langchain_core.embeddings import DeterministicFakeEmbedding

from citeproof.memory.bank import KINDS, Bank, Case, Entry
from citeproof.settings import ChromaSettings
from citeproof.types import Passage

SIZES = (100, 1_000, 10_000)
START = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = """# Memory bank

Written by `python benchmarks/bank.py`. A case has a question, 5 passages of 100 words, two
answers, an assessment and two actions, and is stored as three snippets.

- find: `Bank.best` for a new question, including reading the snippet from the store; add:
  `Bank.add`. Neither includes the embedding, which is 384 random numbers here
- first find of a process: opens the store
- import: 64 cases at a time; MB: the store on disk
- processor ms: median processor time, summed over all threads of the process"""
HEAD = (
    *("cases", "find: median ms", "p95 ms", "processor ms"),
    *("add: median ms", "p95 ms", "processor ms"),
    *("first find, s", "import, ms a case", "MB"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=300, help="at each size")
    parser.add_argument("--adds", type=int, default=30, help="at each size")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--out", type=Path, default=RESULTS / "bank.md")
    chosen = parser.parse_args()
    with asyncio.Runner() as runner:
        rows = list(growth(chosen.sizes, chosen.queries, chosen.adds, runner))
    lines = [TEXT, *conditions("chromadb", "numpy", "filelock"), "", *table(HEAD, rows)]
    write(chosen.out, lines)


def case(chance: random.Random) -> Case:
    def said(number: int) -> str:
        return " ".join(chance.choices(WORDS, k=number))

    passages = [Passage(id=said(2), title=said(3), text=said(100)) for _ in range(5)]
    return Case(
        question=said(12),
        passages=tuple(passages),
        answer=said(60),
        feedback=said(60),
        actions=(said(12), said(12)),
        final=said(80),
        score=1.0,
    )


def entries(count: int, first: int, chance: random.Random) -> Iterator[Entry]:
    for number in range(first, first + count):
        made = START + timedelta(seconds=number)
        yield Entry(namespace="default", case=case(chance), created=made)


def growth(
    sizes: list[int], queries: int, adds: int, runner: asyncio.Runner
) -> Iterator[list[str]]:
    """Yields a row of the table for each size."""
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        settings = ChromaSettings(path=Path(folder))
        bank, held = Bank.open(settings, DeterministicFakeEmbedding(size=384)), 0
        for size in sizes:
            new = list(entries(size - held, held, chance))
            began = time.perf_counter()
            runner.run(bank.import_(new))
            each = (time.perf_counter() - began) * 1000 / len(new)
            bank.close()
            bank = Bank.open(settings, DeterministicFakeEmbedding(size=384))

            def find(asked: Case, bank: Bank = bank) -> None:
                given: Any = asked.model_dump(include={"question", "answer", "feedback"})
                kind = chance.choice(KINDS)
                assert runner.run(bank.best(kind, passages=asked.passages, **given)) is not None

            def add(own: Case, bank: Bank = bank) -> None:
                runner.run(bank.add(own))

            first, *_ = timed(find, [case(chance)])
            times = timed(find, [case(chance) for _ in range(queries)])[:3]
            times += timed(add, [case(chance) for _ in range(adds)])[:3]
            held = runner.run(bank.count())
            cells = [f"{ms:.1f}" for ms in (*times, first / 1000, each)]
            yield [f"{size:,}", *cells, f"{megabytes(Path(folder)):.0f}"]
        bank.close()


if __name__ == "__main__":
    main()
