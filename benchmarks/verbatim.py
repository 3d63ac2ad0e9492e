"""Measures answers without a language model: how fast are they, and do they hold the gold answer?

    python benchmarks/verbatim.py --pool POOL.jsonl --set nq.jsonl:20 --set squad.jsonl:20 --out RUN

CPU seconds sum over all threads, and say more than wall time on a shared machine. The pool is
indexed once, into RUN/store; `--store` names an existing index. RUN/answers.jsonl holds the
answers, RUN/verbatim.md the table. Rows of the pool have `id`, `title` and `text`; rows of a set
have `question`, `answers` and `gold_passages`, the ids of passages in the pool.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import read_lines, table, write

from citeproof import Answer, Settings, Toolbox, build_verbatim

HEAD = (
    *("set", "questions", "answered", "gold answer in text", "gold passage cited", "all verbatim"),
    *("words, mean", "seconds, median", "slowest", "CPU seconds, median"),
)


def questions(entry: str, seed: int) -> list[dict[str, Any]]:
    """COUNT questions of a set given as `FILE:COUNT`, drawn with a fixed seed."""
    path, _, count = entry.rpartition(":")
    rows = random.Random(seed).sample(read_lines(Path(path)), int(count))
    return [{**row, "set": Path(path).stem} for row in rows]


def record(row: dict[str, Any], answer: Answer, seconds: float, cpu: float) -> dict[str, Any]:
    """One answer with the figures for the table."""
    cited = {citation.passage_id for claim in answer.claims for citation in claim.citations}
    texts = {passage.id: " ".join(passage.text.split()) for passage in answer.passages}
    said = " ".join(claim.text for claim in answer.claims).lower()
    return {
        "id": row["id"],
        "set": row["set"],
        "question": row["question"],
        "gold": row.get("answers", []),
        "seconds": seconds,
        "cpu": cpu,
        "status": answer.status,
        "words": len(said.split()),
        "hit": any(alias.lower() in said for alias in row.get("answers", [])),
        "gold_cited": bool(cited & set(row.get("gold_passages", []))),
        "verbatim": all(c.text in texts[c.citations[0].passage_id] for c in answer.claims),
        "text": answer.text,
    }


def figures(rows: list[dict[str, Any]]) -> Iterator[list[object]]:
    """Yields a row of the table for each set, then one for all."""
    for name in [*dict.fromkeys(row["set"] for row in rows), "all"]:
        part = [row for row in rows if name in (row["set"], "all")]
        found = [row for row in part if row["status"] != "not_found"]
        counts = [sum(row[key] for row in part) for key in ("hit", "gold_cited", "verbatim")]
        words = statistics.mean(row["words"] for row in found) if found else 0
        times = [row["seconds"] for row in part]
        cells = [name, len(part), len(found), *counts, f"{words:.0f}"]
        cells += [f"{statistics.median(times):.2f}", f"{max(times):.2f}"]
        yield [*cells, f"{statistics.median(row['cpu'] for row in part):.2f}"]


def main() -> None:
    """Ask all questions, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pool", type=Path, help="passages; needed if there is no index yet")
    parser.add_argument("--set", action="append", required=True, help="FILE:COUNT")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--store", type=Path, help="default: OUT/store")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    asked = [row for entry in given.set for row in questions(entry, given.seed)]
    settings = Settings.load(chroma={"path": given.store or given.out / "store"})
    rows = []
    with Toolbox.from_settings(settings, llm=False) as tools:
        assert tools.index is not None
        if not tools.index.count():
            tools.index.update([given.pool])
        graph = build_verbatim(tools)
        graph.invoke({"question": "What is this about?"})  # loads the models
        for row in asked:
            start, cpu = time.perf_counter(), time.process_time()
            answer = graph.invoke({"question": row["question"]})["answer"]
            spent = time.perf_counter() - start, time.process_time() - cpu
            rows.append(record(row, answer, *spent))
            kept = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            (given.out / "answers.jsonl").write_text(kept, encoding="utf-8")
    write(given.out / "verbatim.md", table(HEAD, figures(rows)))


if __name__ == "__main__":
    main()
