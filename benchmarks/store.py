"""Measures the cost of one more document in an index of 10,000 and of 100,000 passages.

    python benchmarks/store.py

Needs no data and no model: passages are random words, and the embedder returns random vectors of
384 numbers, so only the store is measured. Writes benchmarks/results/store.md.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from pathlib import Path

from common import RESULTS, WORDS, conditions, megabytes, table, timed, write
from langchain_core.embeddings import DeterministicFakeEmbedding

from citeproof.memory.index import Index
from citeproof.settings import ChromaSettings, RetrieverSettings

LENGTH = 80
"""Words of a passage."""
EACH = 10
"""Passages of a document."""
TEXT = """# Index

Written by `python benchmarks/store.py`. Documents have {each} passages of {length} words. The first
indexing is followed by {updates} updates in one process, each of one document that has changed
completely.

- 0 passages: an index of only the changed document, which shows what that document costs alone
- without the embedding, which is 384 random numbers here
- opened and searched: how long a process waits for its first search, and for the first one after
  another process has written
- searches: the {length} words of a whole passage are the question"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RESULTS / "store.md")
    chosen = parser.parse_args()
    sizes = [0, *chosen.sizes]
    columns = [measure(size, chosen.updates) for size in sizes]
    head = ["", *(f"{size:,} passages" for size in sizes)]
    rows = [[name, *(own[name] for own in columns)] for name in columns[-1]]
    text = TEXT.format(each=EACH, length=LENGTH, updates=chosen.updates)
    lines = [text, *conditions("chromadb", "numpy", "filelock"), "", *table(head, rows)]
    write(chosen.out, lines)


def make_text(chance: random.Random) -> str:
    return "\n\n".join(" ".join(chance.choices(WORDS, k=LENGTH)) + "." for _ in range(EACH))


def state(store: Path) -> tuple[float, float, float]:
    """The store's MB on disk, and this process's open files and MB of memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    files = len(list(Path("/proc/self/fd").iterdir()))
    return megabytes(store), files, pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def open_index(store: Path) -> Index:
    embeddings = DeterministicFakeEmbedding(size=384)
    return Index.open(ChromaSettings(path=store), RetrieverSettings(), embeddings)


def measure(size: int, updates: int) -> dict[str, str]:
    """Index this many passages, then change one document at a time."""
    chance = random.Random(size)
    with tempfile.TemporaryDirectory() as scratch:
        documents, store = Path(scratch, "documents"), Path(scratch, "store")
        documents.mkdir()
        files = [documents / f"{number}.txt" for number in range(max(1, size // EACH))]
        for file in files:
            file.write_text(make_text(chance))
        index = open_index(store)
        began = time.perf_counter()
        index.update([documents])
        whole = time.perf_counter() - began
        times, states = [], []
        for number in range(updates):
            changed = files[number % len(files)]
            changed.write_text(make_text(chance))
            began = time.perf_counter()
            report = index.update([changed])
            times.append(1000 * (time.perf_counter() - began))
            assert len(report.updated) == 1
            states.append(state(store))
        query = changed.read_text().split("\n\n")[0]
        dense, *_ = timed(lambda query: index.candidates([query], 5, "dense"), [query] * 30)
        lexical, *_ = timed(lambda query: index.candidates([query], 5, "bm25"), [query] * 30)
        index.close()
        began = time.perf_counter()
        index = open_index(store)
        index.candidates([query], 5, "dense")
        opened = time.perf_counter() - began
        index.close()
    disk, opens, memory = (
        f"{first:,.0f} → {last:,.0f} ({100 * (last / first - 1):+.0f} %)"
        for first, last in zip(states[0], states[-1], strict=True)
    )
    return {
        "first indexing, s": f"{whole:.1f}",
        "update of a document: median ms": f"{sorted(times)[len(times) // 2]:.0f}",
        "slowest ms": f"{max(times):.0f}",
        "disk after the first and the last, MB": disk,
        "open files after the first and the last": opens,
        "memory after the first and the last, MB": memory,
        "dense search: median ms": f"{dense:.1f}",
        "word search: median ms": f"{lexical:.1f}",
        "opened and searched, s": f"{opened:.2f}",
    }


if __name__ == "__main__":
    main()
