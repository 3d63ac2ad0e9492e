"""Measures the cost of one more document in an index of 10,000 and of 100,000 passages.

    python benchmarks/store.py

Needs no data and no model: passages are random words, and the embedder gives random vectors of 384
numbers, so that what is measured is the store. Writes benchmarks/results/store.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from langchain_core.embeddings import DeterministicFakeEmbedding

from citeproof.memory.index import Index
from citeproof.models.cores import cores
from citeproof.settings import ChromaSettings, RetrieverSettings
from citeproof.tools.retrieval import Kind

WORDS = [f"word{n}" for n in range(5_000)]
LENGTH = 80
"""Words of a passage."""
EACH = 10
"""Passages of a document."""
_KINDS: dict[str, Kind] = {"dense": "dense", "words": "bm25"}


@dataclass(frozen=True)
class State:
    """Disk, open files and memory of the store and this process."""

    disk: float
    """MB."""
    files: int
    """That are open."""
    memory: float
    """MB."""

    @classmethod
    def of(cls, folder: Path) -> State:
        """The state now."""
        disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        fields = Path("/proc/self/statm").read_text().split()
        memory = int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
        return cls(disk / 1e6, sum(1 for _ in Path("/proc/self/fd").iterdir()), memory / 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/store.md")
    chosen = parser.parse_args()
    columns = [measure(0, chosen.updates)]
    columns += [measure(size, chosen.updates) for size in chosen.sizes]
    heads = ["", *(f"{size:,} passages" for size in (0, *chosen.sizes))]
    lines = [*describe(chosen.updates), "", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {name} | {' | '.join(c[name] for c in columns)} |" for name in columns[-1]]
    chosen.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(chosen.out.read_text(encoding="utf-8"))


def text(chance: random.Random) -> str:
    return "\n\n".join(" ".join(chance.choices(WORDS, k=LENGTH)) + "." for _ in range(EACH))


def measure(size: int, updates: int) -> dict[str, str]:
    """Index so many passages, then change one document at a time."""
    chance = random.Random(size)
    with tempfile.TemporaryDirectory() as scratch:
        documents, store = Path(scratch, "documents"), Path(scratch, "store")
        documents.mkdir()
        for number in range(max(1, size // EACH)):
            (documents / f"{number}.txt").write_text(text(chance))
        index = Index.open(
            ChromaSettings(path=store), RetrieverSettings(), DeterministicFakeEmbedding(size=384)
        )
        began = time.perf_counter()
        index.update([documents])
        whole = time.perf_counter() - began
        times, states = [], []
        for number in range(updates):
            changed = documents / f"{number % max(1, size // EACH)}.txt"
            changed.write_text(text(chance))
            began = time.perf_counter()
            report = index.update([changed])
            times.append(time.perf_counter() - began)
            assert len(report.updated) == 1
            states.append(State.of(store))
        query = changed.read_text().split("\n\n")[0]
        searches: dict[str, list[float]] = {"dense": [], "words": []}
        for _ in range(30):
            for name, kind in _KINDS.items():
                began = time.perf_counter()
                [found] = index.candidates([query], 5, kind)
                searches[name].append(time.perf_counter() - began)
                assert len(found) == 5
        index.close()
        began = time.perf_counter()
        index = Index.open(
            ChromaSettings(path=store), RetrieverSettings(), DeterministicFakeEmbedding(size=384)
        )
        index.candidates([query], 5, "dense")
        opened = time.perf_counter() - began
        index.close()
    first, last = states[0], states[-1]
    print(size, statistics.median(times), first, last, flush=True)
    return {
        "first indexing, s": f"{whole:.1f}",
        "update of a document: median ms": f"{1000 * statistics.median(times):.0f}",
        "slowest ms": f"{1000 * max(times):.0f}",
        "disk after the first and the last, MB": change(first.disk, last.disk),
        "open files after the first and the last": change(first.files, last.files),
        "memory after the first and the last, MB": change(first.memory, last.memory),
        "dense search: median ms": f"{1000 * statistics.median(searches['dense']):.1f}",
        "search by words: median ms": f"{1000 * statistics.median(searches['words']):.1f}",
        "opened and searched, s": f"{opened:.2f}",
    }


def change(first: float, last: float) -> str:
    return f"{first:,.0f} → {last:,.0f} ({100 * (last / first - 1):+.0f} %)"


def describe(updates: int) -> list[str]:
    versions = ", ".join(f"{name} {version(name)}" for name in ("chromadb", "numpy", "filelock"))
    return [
        "# Index",
        "",
        f"Written by `python benchmarks/store.py`. Documents of {EACH} passages of {LENGTH} words; "
        f"after the first indexing, {updates} updates in one process, each of one document that "
        "has changed altogether.",
        "",
        "- 0 passages: an index of nothing but the document that is changed; what that document "
        "costs alone",
        "- without the embedding, which is 384 random numbers here",
        "- opened and searched: what a process waits for its first search, and for the first one "
        "after another process has written",
        f"- cores: {cores()}; Python {platform.python_version()}; {versions}",
        "- searches: with the hundred words of a whole passage as the question",
        "- the load of other programs is in all times",
    ]


if __name__ == "__main__":
    main()
