"""Makes pairs of a text and a question in everyday words, which its documents do not use.

"How old a reader should I picture?" is answered by "Most lay summaries are written for a high
school-age child's level of understanding." Only a model that knows both wordings sees it. Each
question is asked of the passage with its evidence, of the evidence alone, of a claim that answers,
of the passages that a search finds for it, and of a sentence and a claim beside it. Questions
without an answer have only those that do not answer.

    python -m training.everyday --questions QUESTIONS --documents DOCUMENTS --out SETS/everyday

`QUESTIONS` has a file of JSON lines for each folder of `DOCUMENTS`: `question`, and `file` and
`evidence`, its verbatim text in that file, or null for both. It may have `tempting`, a verbatim
sentence that does not answer, and the claims `answer_sentence` and `beside_sentence`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer

from citeproof.settings import Settings
from citeproof.tools.citations.marks import content
from citeproof.tools.citations.quotes import quotes_in
from citeproof.tools.documents.passages import cut
from citeproof.tools.retrieval import from_passages, retrieve_many
from citeproof.tools.retrieval.remote_embeddings import open_embedder
from citeproof.types import Passage
from training.rows import Row, answer_row, lines, save, show
from training.sections import clean, read_guides

_FOUND = 20
"""Number of passages to find for a question, of which some are taken as negatives."""
_HOLDS = 0.6
"""A passage with this `overlap` with the evidence answers."""
_MAY_HOLD = 0.4
"""A passage with this `overlap` may answer too, so it is no negative."""
_TITLED = 0.7


def pairs(
    asked: Sequence[dict[str, Any]],
    passages: Sequence[Passage],
    found: Sequence[Sequence[Passage]],
    rng: Random,
) -> Iterator[Row]:
    """Pairs of the questions on one folder.

    Args:
        asked: Rows of `QUESTIONS`.
        passages: All passages of the folder.
        found: For each question, the passages that a search finds, the best first.
        rng: Source of chance.
    """
    for row, near in zip(asked, found, strict=True):
        question, evidence = row["question"], clean(row["evidence"] or "")
        gold = _holder(evidence, [p for p in passages if p.source.endswith(row["file"] or "\0")])
        if evidence and gold is None:
            continue
        if gold is not None:
            yield answer_row(gold.premise, question, True, "everyday/passage")
            if len(evidence.split()) > 5:
                yield answer_row(_show(gold, evidence, rng), question, True, "everyday/evidence")
            if claim := row.get("answer_sentence"):
                yield answer_row(_show(gold, claim, rng), question, True, "everyday/claim")
        tempting = clean(row.get("tempting") or "")
        holder = _holder(tempting, passages) or gold
        if tempting:
            yield answer_row(_show(holder, tempting, rng), question, False, "everyday/tempting")
        if beside := row.get("beside_sentence"):
            said = _show(gold or holder, beside, rng)
            yield answer_row(said, question, False, "everyday/claim beside")
        others = [p for p in near if not evidence or overlap(evidence, p.text) < _MAY_HOLD]
        # The nearest, and one from further down.
        for passage in [*others[:2], *rng.sample(others[2:], min(1, len(others[2:])))]:
            yield answer_row(passage.premise, question, False, "everyday/near")
        said_near = [quote for p in others[:2] for quote in quotes_in(p) if quote.is_statement]
        for quote in rng.sample(said_near, min(1, len(said_near))):
            yield answer_row(quote.premise, question, False, "everyday/near sentence")


def _holder(said: str, passages: Iterable[Passage]) -> Passage | None:
    """The passage that says it, if one does."""
    shares = {passage: overlap(said, passage.text) for passage in passages if said}
    best = max(shares, key=lambda one: shares[one], default=None)
    return best if best is not None and shares[best] >= _HOLDS else None


def _show(passage: Passage | None, said: str, rng: Random) -> str:
    said = " ".join(said.split())
    return show(passage.title, said, rng, _TITLED) if passage is not None else said


def overlap(one: str, other: str) -> float:
    """Share of the shorter text's content words that the other has."""
    left, right = content(one), content(other)
    return len(left & right) / max(1, min(len(left), len(right)))


def read_folder(folder: Path) -> list[Passage]:
    """The passages of all documents of a folder, as the index cuts them.

    Raises:
        ValueError: There are none.
    """
    passages = [passage for document in read_guides(folder) for passage in cut(document)]
    if not passages:
        raise ValueError(f"{folder} has no documents")
    return passages


def build(
    questions: Annotated[Path, typer.Option(help="Folder with NAME.jsonl for each source.")],
    documents: Annotated[Path, typer.Option(help="Folder with the documents of each in NAME/.")],
    out: Annotated[Path, typer.Option(help="Folder to write one set for each source to.")],
) -> None:
    """Write the pairs of each source."""
    embedder = open_embedder(Settings())
    for file in sorted(questions.glob("*.jsonl")):
        asked, passages = lines(file), read_folder(documents / file.stem)
        texts = [row["question"] for row in asked]
        found = asyncio.run(retrieve_many(from_passages(passages, embedder), texts, _FOUND))
        rows = pairs(asked, passages, found, Random(f"71 {file.stem}"))
        save(out, f"everyday_{file.stem}", dict.fromkeys(rows))


if __name__ == "__main__":
    typer.run(build)
