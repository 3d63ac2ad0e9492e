"""Measures what becomes of questions in everyday words before anything is written.

    citeproof index DOCUMENTS --store STORE
    python benchmarks/everyday_words.py STORE QUESTIONS.jsonl [...] [--once]

For each question: does the memory hold a passage with the evidence, and does the answerability
verifier let the writer try? `--once` leaves out its second look, and the language model with it.
The files name the document and the verbatim text that answer each question, and
results/everyday_words.md names the documents. Writes a line for each question, and the counts, to
standard output.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import read_lines, table, write

from citeproof import Passage, Toolbox
from citeproof.agents.answerability_verifier import AnswerabilityVerifier
from citeproof.settings import ChromaSettings, Settings
from training.everyday import overlap

FIRST = 5
HOLDS = 0.5
"""Least overlap of a passage with the evidence that it has."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("questions", type=Path, nargs="+")
    parser.add_argument("--once", action="store_true")
    chosen = parser.parse_args()
    asked = [row for path in chosen.questions for row in read_lines(path)]
    settings = Settings(chroma=ChromaSettings(path=chosen.store))
    with Toolbox.from_settings(settings, llm=not chosen.once) as tools:
        write(None, asyncio.run(measure(tools, asked)))


async def measure(tools: Toolbox, asked: Sequence[dict[str, Any]]) -> list[str]:
    """The counts of all questions; prints a line for each."""
    verifier = AnswerabilityVerifier(tools.llm_for("judge"), tools.retriever, tools.answerability)
    counts: Counter[str] = Counter()
    for row in asked:
        began, has_answer = time.perf_counter(), row["evidence"] is not None
        [found] = await verifier.search(verifier.retriever, [row["question"]], FIRST)
        known = [passage.id for passage in found]
        state: Any = {
            "question": row["question"],
            "passages": found,
            "long_term": known,
            "short_term": [],
        }
        update: Any = await verifier(state)
        by_id = {passage.id: passage for passage in update["passages"]}
        searched = any(holds(passage, row) for passage in found)
        kept = any(holds(by_id[one], row) for one in update["long_term"])
        outcome = "no" if not update["answerable"] else "unsure" if update["doubt"] else "yes"
        counts[f"{has_answer} {outcome}"] += 1
        counts["searched"] += searched
        counts["kept"] += kept
        seconds = time.perf_counter() - began
        print(f"{outcome:6} {searched:d} {kept:d} {seconds:5.1f} s  {row['question']}", flush=True)
    outcomes = ("yes", "unsure", "no")
    rows = [
        [name, *(counts[f"{has_answer} {outcome}"] for outcome in outcomes)]
        for name, has_answer in (("with an answer", True), ("without", False))
    ]
    return [
        *table(["do the passages answer?", *outcomes], rows),
        "",
        f"evidence among the first {FIRST} of the search: {counts['searched']}; "
        f"in the memory: {counts['kept']}",
    ]


def holds(passage: Passage, row: dict[str, Any]) -> bool:
    """Whether a passage of the right document has the evidence."""
    if row["evidence"] is None or not passage.source.endswith(row["file"]):
        return False
    return overlap(row["evidence"], passage.text) >= HOLDS


if __name__ == "__main__":
    main()
