"""How the search by words grows, alone: up to a million passages in one SQLite file.

    python benchmarks/word_search.py --passages passages.jsonl --questions questions.jsonl --file w

The texts are those of scale.py. Goes on where it stopped. Writes benchmarks/results/word_search.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scale import Texts, most_memory

from citeproof.models.cores import cores
from citeproof.tools.retrieval.search_pool import searchable
from citeproof.tools.retrieval.word_search import Row, Words

RESULT = Path(__file__).parent / "results/word_search.md"
BLOCK = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 300_000, 10**6])
    parser.add_argument("--opened", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    with chosen.questions.open(encoding="utf-8") as lines:
        questions = [json.loads(line)["question"] for line in lines][:100]
    began = time.perf_counter()
    words = Words(chosen.file)
    if chosen.opened:
        words.search(questions[:1], 5)
        print(time.perf_counter() - began)
        return
    texts, done = Texts(chosen.passages), chosen.file.with_suffix(".json")
    points = json.loads(done.read_text()) if done.exists() else []
    for size in chosen.sizes:
        if size <= max((point["passages"] for point in points), default=0):
            continue
        for start in range(int(words.note or 0), size, BLOCK):
            some = [texts(number) for number in range(start, start + BLOCK)]
            rows = [Row(one.id, str(start), searchable(one)) for one in some]
            words.change([str(start)], rows, str(start + BLOCK))
        points.append(measure(words, texts, questions, size, chosen.file))
        done.write_text(json.dumps(points))
        report(points)
    report(points)


def measure(
    words: Words, texts: Texts, questions: list[str], size: int, file: Path
) -> dict[str, Any]:
    """Time of a search, of adding ten passages, and of opening in another process, in ms."""
    more = [[texts(place * 10 + n) for n in range(10)] for place in range(20)]

    def add(place: int) -> None:
        rows = [Row(f"more {one.id}", f"more {place}", searchable(one)) for one in more[place]]
        words.change([f"more {place}"], rows)

    again = [sys.executable, *sys.argv, "--opened"]
    opened = subprocess.run(again, check=True, capture_output=True).stdout
    point = {
        "passages": size,
        "opened": float(opened),
        "search": timed(lambda question: words.search([question], 50), questions),
        "scores of 50": timed(
            lambda question: words.scores(question, [texts(n).id for n in range(50)]), questions
        ),
        "ten passages more": timed(add, range(20)),
        "disk": file.stat().st_size / 1e6,
        "memory": most_memory(),
    }
    words.change([f"more {place}" for place in range(20)], ())
    return point


def timed(call: Callable[[Any], object], values: Any) -> list[float]:
    """p50 and p95 of CPU time, then of wall time, in ms."""
    times: list[list[float]] = [[], []]
    for value in values:
        starts = time.process_time(), time.perf_counter()
        call(value)
        ends = time.process_time(), time.perf_counter()
        for row, start, end in zip(times, starts, ends, strict=True):
            row.append(1e3 * (end - start))
    return [
        value
        for row in times
        for value in (statistics.median(row), sorted(row)[int(0.95 * len(row))])
    ]


def report(points: list[dict[str, Any]]) -> None:
    """Write the table."""
    rows = {
        f"{name}: CPU p50, p95; wall p50, p95, ms": [
            "{:.0f}, {:.0f}; {:.0f}, {:.0f}".format(*point[name]) for point in points
        ]
        for name in ("search", "scores of 50", "ten passages more")
    }
    for name, unit in (("opened", "s"), ("disk", "MB"), ("memory", "MB")):
        rows[f"{name}, {unit}"] = [f"{point[name]:,.1f}" for point in points]
    heads = " | ".join(f"{point['passages']:,} passages" for point in points)
    lines = [
        "# Growth of the search by words",
        "",
        "Written by `python benchmarks/word_search.py`: Wikipedia passages of about 100 words, "
        "repeated with edits; 100 questions of NQ, the 50 best passages of each.",
        "",
        f"- cores: {cores()}, shared with other programs, whose load is in all wall times",
        "- opened: by another process, which then searches once",
        "- memory: the most that the process ever had, with the 24,000 texts that it makes "
        "passages of",
        "",
        f"| | {heads} |",
        f"|{'---|' * (len(points) + 1)}",
        *(f"| {name} | {' | '.join(values)} |" for name, values in rows.items()),
    ]
    RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
