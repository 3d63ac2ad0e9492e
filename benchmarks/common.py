"""What the benchmarks share: data, times, tables, drawings, and the description of the machine."""

from __future__ import annotations

import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from citeproof.models.cores import cores
from citeproof.models.progress import size_of

sys.path.append(str(Path(__file__).parents[1]))  # so that benchmarks can import `training`
RESULTS = Path(__file__).parent / "results"
WORDS = [f"word{n}" for n in range(5_000)]
"""Words for random texts."""

T = TypeVar("T")


def read_lines(path: Path) -> list[Any]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def timed(call: Callable[[T], object], values: Iterable[T]) -> list[float]:
    """p50 and p95 of wall time, then of processor time over all threads, in milliseconds."""
    wall, cpu = [], []
    for value in values:
        began, spent = time.perf_counter(), time.process_time()
        call(value)
        wall.append(1e3 * (time.perf_counter() - began))
        cpu.append(1e3 * (time.process_time() - spent))
    return [
        quantile
        for times in (wall, cpu)
        for quantile in (statistics.median(times), sorted(times)[int(0.95 * (len(times) - 1))])
    ]


def megabytes(folder: Path) -> float:
    """The size of all files of a folder."""
    return size_of(folder) / 1e6


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines of a Markdown table."""
    lines = [f"| {' | '.join(map(str, cells))} |" for cells in (head, *rows)]
    return [lines[0], f"|{'---|' * len(head)}", *lines[1:]]


def conditions(*packages: str) -> list[str]:
    """The machine and the versions of some packages, as items of a Markdown list."""
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return [
        f"- cores: {cores()}; Python {platform.python_version()}; {versions}",
        "- all times include the load of other programs",
    ]


def write(path: Path | None, lines: Iterable[str]) -> None:
    """Print a result, and write it to the file, if given."""
    text = "\n".join(lines)
    print(text)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")


@contextmanager
def drawing(path: Path, width: float, height: float) -> Iterator[Any]:
    """Axes to draw on, saved as SVG at the end."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(width, height), layout="constrained")
    yield axes
    figure.savefig(path, metadata={"Date": None})
