"""How often the passage that answers a question about manuals is among the first five.

    python benchmarks/manual_questions.py FOLDER [--kinds bm25 dense fused] [--store FOLDER]

The folder holds the manuals, as `citeproof index` takes them; results/manual_questions.md lists
those that were measured. `manual_questions.jsonl` has the questions, each with strings of which one
stands in every passage that answers it. Writes the table to the standard output.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any, get_args

from citeproof.memory.index import Index
from citeproof.models.embedder import load_embedder
from citeproof.settings import ChromaSettings, EmbeddingSettings, ModelSettings, RetrieverSettings
from citeproof.tools.retrieval import Kind

QUESTIONS = Path(__file__).with_suffix(".jsonl")
FIRST, DEPTH = 5, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kinds", nargs="+", choices=get_args(Kind), default=["bm25", "fused"])
    parser.add_argument("--store", type=Path, help="where to keep the index (default: nowhere)")
    chosen = parser.parse_args()
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    with tempfile.TemporaryDirectory() as scratch:
        index = build(chosen.folder, chosen.store or Path(scratch), chosen.kinds)
        ranks = {kind: [rank(index, kind, one) for one in questions] for kind in chosen.kinds}
    print(f"| question | {' | '.join(chosen.kinds)} |\n|---{'|---' * len(chosen.kinds)}|")
    for number, one in enumerate(questions):
        found = [str(own[number] or f"over {DEPTH}") for own in ranks.values()]
        print(f"| {one['question']} | {' | '.join(found)} |")
    counts = [sum(0 < place <= FIRST for place in own) for own in ranks.values()]
    print(f"| among the first {FIRST}, of {len(questions)} | {' | '.join(map(str, counts))} |")


def build(folder: Path, store: Path, kinds: list[str]) -> Index:
    """An index of the manuals; of words only if that is all that is searched."""
    if kinds == ["bm25"]:
        index = Index.open(ChromaSettings(path=store), RetrieverSettings(kind="bm25"))
    else:
        embeddings = load_embedder(EmbeddingSettings(), ModelSettings())
        index = Index.open(ChromaSettings(path=store), RetrieverSettings(), embeddings)
    report = index.update([folder])
    print(f"{len(index.documents())} documents, {report.passages:,} passages\n", flush=True)
    return index


def rank(index: Index, kind: Kind, question: dict[str, Any]) -> int:
    """The place of the first passage that answers, from 1; 0 if it is beyond the depth."""
    found = asyncio.run(index.retriever(kind).retrieve(question["question"], DEPTH))
    for place, passage in enumerate(found, start=1):
        said = " ".join(passage.text.split())
        if any(gold in said for gold in question["gold"]):
            return place
    return 0


if __name__ == "__main__":
    main()
