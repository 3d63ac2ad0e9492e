"""VTG on real questions with the configured models: what it proves, finds and costs.

    python benchmarks/vtg.py --pool POOL.jsonl --set nq.jsonl:12 --set asqa.jsonl:6 --out RUN/

The pool is indexed once, into RUN/store. Each question's answer is written to RUN/answers.jsonl
as soon as it is there; a second call goes on where the first stopped. RUN/vtg.md is the table.
A question set has `id`, `question`, `answers` and `gold_passages` (ids in the pool).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from citeproof import Answer, Settings, Toolbox, build_vtg


def questions(sets: list[str], seed: int) -> list[dict[str, Any]]:
    """So many questions of each set, drawn with a fixed seed."""
    chosen = []
    for entry in sets:
        path, _, count = entry.rpartition(":")
        rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
        rows = [row for row in rows if row.get("gold_passages")]
        random.Random(seed).shuffle(rows)
        chosen += [{**row, "set": Path(path).stem} for row in rows[: int(count)]]
    return chosen


def run(graph: Any, question: str) -> tuple[Answer, list[tuple[str, str, float]]]:
    """The answer to a question, and every (premise, hypothesis, score) on the way to it."""
    pairs: list[tuple[str, str, float]] = []
    final: dict[str, Any] = {}
    for mode, part in graph.stream({"question": question}, stream_mode=["values", "custom"]):
        if mode == "values":
            final = part
        elif part.type == "pairs_scored":
            pairs += part.pairs
    return final["answer"], pairs


def record(
    row: dict[str, Any], answer: Answer, pairs: list[tuple[str, str, float]], seconds: float
) -> dict[str, Any]:
    """One answer, with the figures that the table needs."""
    cited = {citation.passage_id for claim in answer.claims for citation in claim.citations}
    text = " ".join(claim.text for claim in answer.claims).lower()
    return {
        "id": row["id"],
        "set": row["set"],
        "question": row["question"],
        "claims": len(answer.claims),
        "supported": sum(c.verdict.status == "supported" for c in answer.claims),
        "verdicts": all(c.verdict is not None for c in answer.claims),
        "gold_cited": bool(cited & set(row["gold_passages"])),
        "answer_in_text": any(alias.lower() in text for alias in row["answers"]),
        "seconds": seconds,
        "pairs": pairs,
        "answer": answer.model_dump(mode="json"),
    }


def table(rows: list[dict[str, Any]]) -> list[str]:
    """One line for each set, then the totals."""
    lines = [
        "| set | questions | claims | supported | gold passage cited | gold answer in text "
        "| LLM calls | prompt tokens | cached | NLI pairs | seconds, median |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    names = [*dict.fromkeys(row["set"] for row in rows), "all"]
    for name in names:
        part = [row for row in rows if name in (row["set"], "all")]
        usage = [row["answer"]["usage"] for row in part]
        total = {key: sum(u[key] for u in usage) for key in usage[0]}
        claims = sum(row["claims"] for row in part)
        lines.append(
            f"| {name} | {len(part)} | {claims} "
            f"| {sum(row['supported'] for row in part) / max(1, claims):.0%} "
            f"| {sum(row['gold_cited'] for row in part)}/{len(part)} "
            f"| {sum(row['answer_in_text'] for row in part)}/{len(part)} "
            f"| {total['llm_calls'] / len(part):.1f} | {total['prompt_tokens'] / len(part):.0f} "
            f"| {total['cached_tokens'] / max(1, total['prompt_tokens']):.0%} "
            f"| {total['nli_pairs'] / len(part):.1f} "
            f"| {statistics.median(row['seconds'] for row in part):.0f} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pool", type=Path, required=True, help="passages as JSON lines")
    parser.add_argument("--set", action="append", required=True, help="FILE:COUNT")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", type=Path, help="an index made before")
    parser.add_argument(
        "--entailment",
        choices=["cascade", "cross-encoder", "judge"],
        default="cascade",
        help="what verifies",
    )
    parser.add_argument("--parameter", action="append", default=[], help="name=value of VTG")
    arguments = parser.parse_args()
    parameters = {
        name: json.loads(value)
        for name, _, value in (entry.partition("=") for entry in arguments.parameter)
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    file = arguments.out / "answers.jsonl"
    done = {}
    if file.exists():
        done = {r["id"]: r for r in map(json.loads, file.read_text(encoding="utf-8").splitlines())}
    settings = Settings.load(
        chroma={"path": arguments.store or arguments.out / "store"},
        entailment={"kind": arguments.entailment},
    )
    rows = questions(arguments.set, arguments.seed)
    with Toolbox.from_settings(settings) as tools:
        if tools.index is not None and tools.index.count() == 0:
            print(tools.index.update([arguments.pool]), file=sys.stderr)
        graph = build_vtg(tools, **parameters)
        with file.open("a", encoding="utf-8") as out:
            for number, row in enumerate(rows, start=1):
                if row["id"] in done:
                    continue
                begun = time.perf_counter()
                answer, pairs = run(graph, row["question"])
                done[row["id"]] = record(row, answer, pairs, time.perf_counter() - begun)
                out.write(json.dumps(done[row["id"]], ensure_ascii=False) + "\n")
                out.flush()
                print(f"{number}/{len(rows)} {row['question']}\n    {answer.text}", flush=True)
    kept = [done[row["id"]] for row in rows]
    text = "\n".join(["# VTG on real questions", "", *table(kept), ""])
    (arguments.out / "vtg.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
