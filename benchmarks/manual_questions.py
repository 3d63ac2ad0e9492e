"""Measures how often an answering passage is among the first five, for questions on manuals.

    python benchmarks/manual_questions.py FOLDER [--kinds bm25 dense fused memory] [--store FOLDER]

`memory` stands for the passages that the methods read: the first twenty of the fused search are
scored as answers, and the best five by both scores are kept.

The folder holds the manuals, in any format that `citeproof index` takes; the manuals measured are
listed in results/manual_questions.md. Each question of `manual_questions.jsonl` has a list of
strings; a passage that contains one of them answers it. Writes the table to standard output.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import Any, get_args

from common import read_lines, table, write

from citeproof.agents.answerability_verifier import AnswerabilityVerifier
from citeproof.agents.retriever import Retriever
from citeproof.memory.index import Index
from citeproof.models.embedder import load_embedder
from citeproof.settings import (
    ChromaSettings,
    EmbeddingSettings,
    ModelSettings,
    RetrieverSettings,
    Settings,
)
from citeproof.tools.entailment.opening import open_answerability
from citeproof.tools.llm.opening import no_llm
from citeproof.tools.retrieval import Kind
from citeproof.types import Passage

QUESTIONS = Path(__file__).with_suffix(".jsonl")
FIRST, DEPTH = 5, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    kinds = [*get_args(Kind), "memory"]
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=["fused", "memory"])
    parser.add_argument("--store", type=Path, help="where to keep the index (default: nowhere)")
    chosen = parser.parse_args()
    questions = read_lines(QUESTIONS)
    with tempfile.TemporaryDirectory() as scratch:
        index = build(chosen.folder, chosen.store or Path(scratch), chosen.kinds)
        ranks = {kind: asyncio.run(rank(index, kind, questions)) for kind in chosen.kinds}
    rows = [
        [one["question"], *(own[number] or "not found" for own in ranks.values())]
        for number, one in enumerate(questions)
    ]
    counts = [sum(0 < place <= FIRST for place in own) for own in ranks.values()]
    rows.append([f"among the first {FIRST}, of {len(questions)}", *counts])
    write(None, table(["question", *chosen.kinds], rows))


def build(folder: Path, store: Path, kinds: list[str]) -> Index:
    """An index of the manuals, without vectors for word search alone."""
    if kinds == ["bm25"]:
        index = Index.open(ChromaSettings(path=store), RetrieverSettings(kind="bm25"))
    else:
        embeddings = load_embedder(EmbeddingSettings(), ModelSettings())
        index = Index.open(ChromaSettings(path=store), RetrieverSettings(), embeddings)
    report = index.update([folder])
    print(f"{len(index.documents())} documents, {report.passages:,} passages\n", flush=True)
    return index


async def rank(index: Index, kind: Any, questions: list[dict[str, Any]]) -> list[int]:
    """For each question the rank of the first answering passage, from 1; 0 if there is none."""
    if kind != "memory":
        asked = [one["question"] for one in questions]
        found = await index.retriever(kind).retrieve_many(asked, DEPTH)
    else:
        verifier = AnswerabilityVerifier(
            no_llm(), index.retriever(), open_answerability(Settings())
        )
        found = [await remember(verifier, one["question"]) for one in questions]
    return [place(some, one["gold"]) for some, one in zip(found, questions, strict=True)]


async def remember(verifier: AnswerabilityVerifier, question: str) -> list[Passage]:
    """The passages of a search that the methods read, the best first."""
    state: dict[str, Any] = {"question": question, "documents": [], "short_term": []}
    state |= await Retriever(verifier.retriever, FIRST)(state)  # type: ignore[arg-type]
    state |= await verifier(state)  # type: ignore[arg-type]
    return list(state["passages"][:FIRST])


def place(found: list[Passage], gold: list[str]) -> int:
    """The rank of the first passage that contains one of the strings, from 1; 0 if none does."""
    for number, passage in enumerate(found, start=1):
        said = " ".join(passage.text.split())
        if any(one in said for one in gold):
            return number
    return 0


if __name__ == "__main__":
    main()
