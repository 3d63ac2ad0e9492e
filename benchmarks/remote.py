"""Measures remote entailment: the scores of one `citeproof serve`, and its pairs a second.

    python benchmarks/remote.py [--pairs 320] [--clients 1 4 16] [--out FILE]

The pairs come from `tests/data/hard_cases.jsonl`, each premise with several hypotheses. They are
scored first in this process, then by a server in a separate process. Its clients (threads of this
process, each with its own connections) divide the pairs among them. Each asks for five at a time,
as for a claim and its five passages, one request after the other. The server keeps its scores, so
each number of clients asks with another number of spaces after the premises, which models ignore.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from common import read_lines, table, write

from citeproof import Settings
from citeproof.models.vllm import free_port
from citeproof.settings import EntailmentSettings
from citeproof.tools.entailment import Entailment, Pair
from citeproof.tools.entailment.opening import open_first

HARD_CASES = Path(__file__).parents[1] / "tests/data/hard_cases.jsonl"
HEAD = (
    *("", "pairs/s", "processor ms a pair"),
    "largest difference of a score, decisions that differ",
)
GROUP = 5
"""Pairs that a client asks about at a time."""


def made(count: int) -> list[Pair]:
    """Distinct pairs of the premises and hypotheses of the cases."""
    rows = read_lines(HARD_CASES)
    pairs = [
        Pair(row["premise"], rows[(place + step) % len(rows)]["hypothesis"])
        for step in range(8)
        for place, row in enumerate(rows)
    ]
    return list(dict.fromkeys(pairs))[:count]


def worked(*processes: int) -> float:
    """Processor seconds of processes so far, over all threads (Linux)."""
    ticks = 0
    for process in processes:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        ticks += sum(map(int, text.rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def scored(model: Entailment, pairs: Sequence[Pair]) -> list[float]:
    """The scores of pairs, five at a time."""

    async def ask() -> list[float]:
        groups = [pairs[n : n + GROUP] for n in range(0, len(pairs), GROUP)]
        return [score for group in groups for score in await model.scores(group)]

    return asyncio.run(ask())


@contextlib.contextmanager
def serving() -> Iterator[tuple[str, int]]:
    """Address and process id of a `citeproof serve` without a language model, once it is ready."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        nobody = ("--set", "llm.model=none-here", "--set", "llm.base_url=http://127.0.0.1:9/v1")
        program = [sys.executable, "-c", "from citeproof.cli import main; main()", "serve"]
        options = ["--port", str(port), "--store", folder, *nobody]
        process = subprocess.Popen([*program, *options], cwd=folder)
        try:
            while True:
                with contextlib.suppress(httpx.HTTPError):
                    if httpx.get(f"{url}/readyz").status_code == 200:
                        break
                if process.poll() is not None:
                    raise SystemExit("The server has ended.")
                time.sleep(1.0)
            yield url, process.pid
        finally:
            process.terminate()
            process.wait(30)


def figures(count: int, seconds: float, work: float) -> tuple[str, str]:
    """Pairs a second, and processor milliseconds a pair."""
    return f"{count / seconds:.1f}", f"{1000 * work / count:.0f}"


def main() -> None:
    """Measure, print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=320)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    pairs = made(arguments.pairs)
    settings = Settings(entailment=EntailmentSettings(kind="cross-encoder"))
    here = open_first(settings.entailment, settings.models)
    scored(here, pairs[:GROUP])  # loads the model, which is not timed
    begun, before = time.perf_counter(), worked(os.getpid())
    wanted = scored(here, pairs)
    seconds, work = time.perf_counter() - begun, worked(os.getpid()) - before
    rows = [("in process", *figures(len(pairs), seconds, work), "")]
    threshold = here.threshold
    del here
    gc.collect()
    with serving() as (url, server):
        asked = EntailmentSettings(kind="cross-encoder", base_url=url)
        for clients in arguments.clients:
            models = [open_first(asked, settings.models) for _ in range(clients)]
            scored(models[0], [Pair(f"{clients} towers.", "A tower.")])
            own = [Pair(pair.premise + " " * clients, pair.hypothesis) for pair in pairs]
            shares = [own[n::clients] for n in range(clients)]
            begun, before = time.perf_counter(), worked(os.getpid(), server)
            with ThreadPoolExecutor(clients) as pool:
                found = list(pool.map(scored, models, shares))
            seconds = time.perf_counter() - begun
            work = worked(os.getpid(), server) - before
            scores = {
                pair: score
                for share, told in zip(shares, found, strict=True)
                for pair, score in zip(share, told, strict=True)
            }
            both = [(scores[pair], score) for pair, score in zip(own, wanted, strict=True)]
            largest = max(abs(one - other) for one, other in both)
            turned = sum((one >= threshold) != (other >= threshold) for one, other in both)
            name = f"{clients} client" + ("s" if clients > 1 else "")
            difference = f"{largest:.1g}, {turned} of {len(pairs)} decisions"
            rows.append((name, *figures(len(pairs), seconds, work), difference))
            print(rows[-1], flush=True)
    write(arguments.out, table(HEAD, rows))


if __name__ == "__main__":
    main()
