"""Measures how index and searches scale, up to a million passages with ready vectors.

    python benchmarks/scale.py --passages passages.jsonl --questions questions.jsonl --folder big

Texts come from the file, and are repeated with a sixth of their words replaced by numbers and words
of other titles. Vectors are computed from the words: similar texts have similar vectors, and
nothing is embedded. An interrupted run continues where it stopped. Writes
benchmarks/results/scale.md and .svg.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, conditions, drawing, read_lines, table, timed, write
from langchain_core.embeddings import Embeddings

from citeproof.memory.index import Index
from citeproof.settings import ChromaSettings, RetrieverSettings
from citeproof.tools.documents.imports import Import, open_batches
from citeproof.tools.retrieval import fuse
from citeproof.types import Passage

DIMENSION, LATENT = 384, 48
TEXT = """# Growth of the index

Written by `python benchmarks/scale.py`. Wikipedia passages of about 100 words, repeated with edits,
with ready vectors of {dimension} numbers; nothing is embedded.

- indexing: all passages since the previous column; searches: 99 questions of NQ
- one document more: a text of about ten passages, in the process that built the index"""


class WordVectors(Embeddings):
    """The mean vector of a text's words, in a 48-dimensional subspace, with a little noise."""

    name = "words of the benchmark"

    def __init__(self) -> None:
        chance = np.random.default_rng(0)
        self.words = chance.standard_normal((2**15, LATENT)).astype(np.float32)
        self.spread = chance.standard_normal((LATENT, DIMENSION)).astype(np.float32)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors as lists."""
        return [list(map(float, row)) for row in self.vectors(texts)]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, computed like any other."""
        return self.embed_documents([text])[0]

    def vectors(self, texts: list[str]) -> Any:
        """An array of shape (texts, 384)."""
        rows = np.stack([self._mean(text) for text in texts]) @ self.spread
        noise = np.random.default_rng(zlib.crc32(texts[0].encode()))
        rows += 0.1 * noise.standard_normal(rows.shape).astype(np.float32)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)

    def _mean(self, text: str) -> Any:
        # Long words say most of what a text is about.
        held = [word for word in text.lower().split() if len(word) > 4] or [text]
        return self.words[[_place(word) for word in held]].mean(axis=0)


@cache
def _place(word: str) -> int:
    return zlib.crc32(word.encode()) % 2**15


class Texts:
    """Any number of different passages, made from those of a file."""

    def __init__(self, file: Path) -> None:
        self.base = read_lines(file)
        self.names = sorted({word for one in self.base for word in one["title"].split()})

    def __call__(self, number: int) -> Passage:
        """The passage with this number, always the same."""
        one, again = self.base[number % len(self.base)], number // len(self.base)
        words = one["text"].split()
        if again:
            chance = random.Random(number)
            for _ in range(len(words) // 6):
                new = str(chance.randrange(3000)) if chance.random() < 0.3 else None
                words[chance.randrange(len(words))] = new or chance.choice(self.names)
        text = " ".join(words)
        return Passage(id=f"{one['id']}-{again}", text=text, title=one["title"], end=len(text))


@dataclass
class Point:
    """Measurements at one number of passages, with times in seconds except those of searches."""

    passages: int
    build: float = 0.0
    """Wall time per passage since the last point."""
    build_cpu: float = 0.0
    memory: float = 0.0
    """Peak memory of the process, in MB."""
    disk: dict[str, float] = field(default_factory=dict)
    """MB."""
    opened: list[float] | None = None
    """Another process opens the index and searches once: wall time, CPU time, peak MB."""
    times: dict[str, list[float]] = field(default_factory=dict)
    """p50 and p95 of wall time, then of CPU time, in milliseconds."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    sizes = [10_000, 100_000, 250_000, 500_000, 1_000_000]
    parser.add_argument("--sizes", type=int, nargs="+", default=sizes)
    parser.add_argument("--opened", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    questions = [row["question"] for row in read_lines(chosen.questions)[:100]]
    wall, cpu = time.perf_counter(), time.process_time()
    index = Index.open(ChromaSettings(path=chosen.folder), RetrieverSettings(), WordVectors())
    if chosen.opened:
        index.candidates(questions[:1], 50)
        times = time.perf_counter() - wall, time.process_time() - cpu
        print(json.dumps([*times, most_memory()]))
        return
    texts, done = Texts(chosen.passages), chosen.folder / "points.jsonl"
    points = [Point(**row) for row in read_lines(done)] if done.exists() else []
    for size in chosen.sizes:
        before = max((point.passages for point in points), default=0)
        if size > before:
            points.append(measure(index, texts, questions, before, size, chosen.folder))
            with done.open("a") as lines:
                lines.write(json.dumps(asdict(points[-1])) + "\n")
            report(points)
    index.close()
    report(points)


def measure(
    index: Index, texts: Texts, questions: list[str], before: int, size: int, folder: Path
) -> Point:
    """Let the index grow to a size, and measure it."""
    point, embedder = Point(size), WordVectors()

    def batches() -> Iterator[tuple[list[Passage], Any]]:
        for start in range(before, size, 1000):
            some = [texts(number) for number in range(start, min(start + 1000, size))]
            yield some, embedder.vectors([f"{one.title} {one.text}" for one in some])

    given: Import = open_batches(f"passages from {before}", size - before, DIMENSION, batches)
    began, cpu = time.perf_counter(), time.process_time()

    def told(step: Any) -> None:
        if step.state == "done" and step.document.endswith("9"):
            spent = time.perf_counter() - began, time.process_time() - cpu
            print(step.document, *(f"{one:.0f} s" for one in spent), flush=True)

    index.add_import(given, progress=told)
    point.build = (time.perf_counter() - began) / (size - before)
    point.build_cpu = (time.process_time() - cpu) / (size - before)
    point.memory = most_memory()
    kinds = {".bin": "vectors", ".pickle": "vectors", ".sqlite3": "texts", ".words": "words"}
    for file in (file for file in folder.rglob("*") if file.is_file()):
        kind = kinds.get(file.suffix, "rest")
        point.disk[kind] = point.disk.get(kind, 0.0) + file.stat().st_size / 1e6
    again = [sys.executable, *sys.argv, "--opened"]
    point.opened = json.loads(subprocess.run(again, check=True, capture_output=True).stdout)
    searches: dict[str, Callable[[str], object]] = {
        "dense": lambda question: index.candidates([question], 5, "dense"),
        "words": lambda question: index.candidates([question], 5, "bm25"),
        "fused": lambda question: [fuse(found) for found in index.candidates([question], 50)],
    }
    for name, search in searches.items():
        search(questions[0])
        point.times[name] = timed(search, questions[1:])
    more = [" ".join(texts(place * 7 + n).text for n in range(10)) for place in range(20)]
    index.add([more[0]])
    point.times["one document more"] = timed(lambda text: index.add([text]), more[1:])
    return point


def most_memory() -> float:
    """Peak memory of this process, in MB; getrusage would count its parent's."""
    fields = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmHWM"].split()[0]) / 1e3


def report(points: list[Point]) -> None:
    """Write the table and the plot."""
    rows: dict[str, list[str]] = {
        "indexing a passage: wall, CPU, ms": [
            f"{1e3 * one.build:.2f}, {1e3 * one.build_cpu:.2f}" for one in points
        ],
        "peak memory while indexing, MB": [f"{one.memory:,.0f}" for one in points],
        "disk: texts, vectors, words, MB": [
            ", ".join(f"{one.disk.get(kind, 0):,.0f}" for kind in ("texts", "vectors", "words"))
            for one in points
        ],
        "opened by another process and searched: wall, CPU, s; MB": [
            "{:.1f}, {:.1f}; {:,.0f}".format(*one.opened) if one.opened else "–" for one in points
        ],
    }
    for name in points[0].times:
        for what, first in (("wall", 0), ("CPU", 2)):
            rows[f"{name}: {what} p50, p95, ms"] = [
                ", ".join(f"{value:.0f}" for value in one.times[name][first : first + 2])
                for one in points
            ]
    head = ["", *(f"{one.passages:,} passages" for one in points)]
    lines = [TEXT.format(dimension=DIMENSION), *conditions("chromadb", "numpy"), ""]
    lines += table(head, [[name, *cells] for name, cells in rows.items()])
    write(RESULTS / "scale.md", [*lines, "", "![growth](scale.svg)"])
    draw(points)


def draw(points: list[Point]) -> None:
    """CPU time against passages, both logarithmic."""
    sizes = [one.passages for one in points]
    with drawing(RESULTS / "scale.svg", 7, 4) as axes:
        for name in points[0].times:
            axes.plot(sizes, [one.times[name][2] for one in points], marker="o", label=name)
        indexing = [1e3 * one.build_cpu for one in points]
        axes.plot(sizes, indexing, marker="s", label="indexing a passage")
        axes.set(xscale="log", yscale="log", xlabel="passages", ylabel="CPU, ms (median)")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))


if __name__ == "__main__":
    main()
