"""Measures how often the right passage is found: dense, BM25 and fused, over a pool of passages.

    python benchmarks/retrieval.py passages.jsonl nq_dev.jsonl squad_dev.jsonl

The pool is a JSONL file of objects with `id`, `title` and `text`; a question set has objects with
`question` and `gold_passages` (ids in the pool). Writes benchmarks/results/retrieval.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from common import RESULTS, conditions, read_lines, table, write

from citeproof.memory.index import Index
from citeproof.models.embedder import load_embedder
from citeproof.settings import ChromaSettings, EmbeddingSettings, ModelSettings, RetrieverSettings
from citeproof.tools.retrieval import DENSE_SHARE, HybridRetriever, Kind, fuse
from citeproof.tools.retrieval.search_pool import Candidate
from citeproof.types import Passage

DEPTH = 20
"""The deepest rank that counts."""
PACKAGES = ("chromadb", "sentence-transformers", "torch", "PyStemmer")

Ranking = list[str]
Search = Callable[[list[str]], list[Ranking]]


class Question(NamedTuple):
    """A question, and the ids of the passages that answer it."""

    text: str
    gold: frozenset[str]


@dataclass(frozen=True)
class Indexed:
    """An index, and the cost of building it."""

    index: Index
    seconds: float
    cpu_seconds: float
    peak_gib: float
    """Peak memory of the process so far, with the embedding model."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pool", type=Path)
    parser.add_argument("questions", type=Path, nargs="+")
    parser.add_argument("--limit", type=int, default=300, help="questions from each set")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--embedder", default="local", help="as in `embedding.model`")
    parser.add_argument("--store", type=Path, help="where to keep the index (default: nowhere)")
    parser.add_argument("--out", type=Path, default=RESULTS / "retrieval.md")
    chosen = parser.parse_args()
    ids = {row["id"] for row in read_lines(chosen.pool)}
    sets = {path.stem: sample(path, ids, chosen.limit, chosen.seed) for path in chosen.questions}
    with tempfile.TemporaryDirectory() as scratch:
        store = chosen.store or Path(scratch)
        built = indexed(chosen.pool, store / "titled", chosen.embedder)
        searches = variants(built.index)
        searches["bm25, titles left out"] = through(untitled(chosen.pool, Path(scratch)))
        lines = report(searches, sets)
        write(chosen.out, [*describe(chosen, built, len(ids)), "", *lines])


def sample(path: Path, ids: set[str], limit: int, seed: int) -> list[Question]:
    able = [row for row in read_lines(path) if row.get("gold_passages")]
    able = [row for row in able if ids.issuperset(row["gold_passages"])]
    random.Random(seed).shuffle(able)
    return [Question(row["question"], frozenset(row["gold_passages"])) for row in able[:limit]]


def indexed(pool: Path, store: Path, embedder: str) -> Indexed:
    embeddings = load_embedder(EmbeddingSettings(model=embedder), ModelSettings())
    embeddings.embed_query("loads the model, which is not part of indexing")
    index = Index.open(ChromaSettings(path=store), RetrieverSettings(), embeddings)
    began, cpu = time.perf_counter(), time.process_time()
    index.update(
        [pool], progress=lambda step: print(f"{step.document}: {step.stored}/{step.passages}")
    )
    index.candidates(["builds the lexical index"], 1, "bm25")
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Indexed(index, seconds, cpu_seconds, peak)


def untitled(pool: Path, scratch: Path) -> HybridRetriever:
    bare = scratch / "bare.jsonl"
    lines = (json.dumps({**row, "title": ""}) + "\n" for row in read_lines(pool))
    bare.write_text("".join(lines), encoding="utf-8")
    words = RetrieverSettings(kind="bm25")
    index = Index.open(ChromaSettings(path=scratch / "untitled"), words)
    index.update([bare])
    return index.retriever()


def variants(index: Index) -> dict[str, Search]:
    """Name → search. The first three are what users get; the others were tried."""
    kinds: tuple[Kind, ...] = ("dense", "bm25", "fused")
    searches: dict[str, Search] = {kind: through(index.retriever(kind)) for kind in kinds}
    for share in (0.4, 0.5, 0.7, 0.8):
        searches[f"scores fused, dense share {share}"] = through(
            HybridRetriever(index, "fused", dense_share=share)
        )
    for depth in (20, 50, 200):
        name = f"scores fused, dense share {DENSE_SHARE}, {depth} candidates"
        searches[name] = over(index, depth, fuse)
    for c in (2, 60):
        for share in (0.4, 0.5, 0.6):
            name = f"ranks fused, c {c}, dense share {share}"
            searches[name] = over(index, 100, partial(by_rank, c=c, share=share))
    return searches


def through(retriever: HybridRetriever) -> Search:
    """A search as users call it: one question at a time."""

    async def one(query: str) -> list[Passage]:
        return await retriever.retrieve(query, DEPTH)

    return lambda queries: [
        [passage.id for passage in asyncio.run(one(query))] for query in queries
    ]


def over(index: Index, depth: int, order: Callable[[list[Candidate]], Ranking]) -> Search:
    """A search that ranks the candidates of the index."""
    return lambda queries: [order(index.candidates([query], depth)[0])[:DEPTH] for query in queries]


def by_rank(found: Sequence[Candidate], c: int, share: float) -> Ranking:
    """Reciprocal rank fusion (Cormack et al. 2009), over completed rankings."""
    scores = dict.fromkeys((candidate.id for candidate in found), 0.0)
    dense = sorted(found, key=lambda candidate: -candidate.cosine)
    lexical = sorted(found, key=lambda candidate: -candidate.bm25)
    for ranking, weight in ((dense, share), (lexical, 1 - share)):
        for rank, candidate in enumerate(ranking, start=1):
            scores[candidate.id] += weight / (c + rank)
    return sorted(scores, key=lambda key: -scores[key])


def report(searches: dict[str, Search], sets: dict[str, list[Question]]) -> list[str]:
    head = ("search", "recall@1", "recall@5 (± 95 % interval)", "recall@20", "MRR@20")
    lines = []
    for name, questions in sets.items():
        rows = []
        for label, search in searches.items():
            began = time.perf_counter()
            rankings = search([question.text for question in questions])
            ms = (time.perf_counter() - began) * 1000 / len(questions)
            rows.append([label, *figures(rankings, questions), f"{ms:.0f}"])
            print(name, *rows[-1], flush=True)
        lines += [f"## {name}: {len(questions)} questions", ""]
        lines += [*table([*head, "ms a question"], rows), ""]
    return lines


def figures(rankings: Sequence[Ranking], questions: Sequence[Question]) -> list[str]:
    recalls = {
        k: [recall(found[:k], q.gold) for found, q in zip(rankings, questions, strict=True)]
        for k in (1, 5, DEPTH)
    }
    half = 1.96 * statistics.stdev(recalls[5]) / math.sqrt(len(questions))
    mrr = statistics.fmean(
        next((1 / rank for rank, key in enumerate(found, start=1) if whole(key) in q.gold), 0.0)
        for found, q in zip(rankings, questions, strict=True)
    )
    at = {k: statistics.fmean(values) for k, values in recalls.items()}
    return [f"{at[1]:.3f}", f"{at[5]:.3f} ± {half:.3f}", f"{at[DEPTH]:.3f}", f"{mrr:.3f}"]


def recall(found: Sequence[str], gold: frozenset[str]) -> float:
    return len(gold.intersection(map(whole, found))) / len(gold)


def whole(key: str) -> str:
    """The pool's id of a passage, without the `#` and number that a cut passage has at its end."""
    return key.partition("#")[0]


def describe(chosen: argparse.Namespace, built: Indexed, pooled: int) -> list[str]:
    embedder = "all-MiniLM-L6-v2 (embedded)" if chosen.embedder == "local" else chosen.embedder
    return [
        "# Retrieval",
        "",
        "Written by `benchmarks/retrieval.py`. A question counts as found at k if its gold "
        "passage is among the first k results.",
        "",
        f"- pool: {chosen.pool.name}, {pooled:,} objects, {built.index.count():,} passages",
        f"- questions: at most {chosen.limit} of each set, chosen with seed {chosen.seed}",
        f"- embedder: {embedder}",
        *conditions(*PACKAGES),
        "- `fused` takes 100 candidates from each search here (5 k); for k up to 10 it takes 50",
        f"- indexing: {built.seconds:.0f} s ({built.cpu_seconds:.0f} s of processor time); "
        f"peak memory {built.peak_gib:.1f} GiB",
    ]


if __name__ == "__main__":
    main()
