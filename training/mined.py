"""Makes pairs of a question and what a search finds for it, which mostly does not answer.

The sentence that is nearest to a question often tells something else of the same thing: asked who
sings a song, a search finds its composer and its label. Passages that contain no answer of the
question set, and the sentences of theirs that share most words with the question, count as no
answer. The sentences of the gold passage that contain one count as answers.

    python -m training.mined --data DATA --out SETS
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple

import typer

from citeproof.settings import Settings
from citeproof.tools.citations.marks import content
from citeproof.tools.citations.quotes import quotes_in
from citeproof.tools.retrieval import from_passages, retrieve_many
from citeproof.tools.retrieval.remote_embeddings import open_embedder
from citeproof.types import Passage
from training.build import QUESTIONS, is_ours, left_out_of
from training.make import holds_any
from training.rows import Row, answer_row, lines, save, show

_FOUND = 10
"""Number of passages to find for a question."""
_TITLED = 0.8
_FROM_SQUAD = 2500
"""Most questions of SQuAD; the other sets are smaller."""
_ON_THE_SAME = 0.6
"""Least share of a question's content words in a sentence and its title, to count as an answer if
it contains one and the set names no gold passage."""


class Question(NamedTuple):
    """A question and its answers, with the ids of the passages that surely have one."""

    text: str
    answers: tuple[str, ...]
    gold: frozenset[str]
    source: str

    def is_answered_in(self, text: str) -> bool:
        """Whether a text contains one of the answers."""
        return holds_any(text, self.answers)


def pairs(
    asked: Sequence[Question], found: Sequence[Sequence[Passage]], rng: Random
) -> Iterator[Row]:
    """Pairs of each question with what a search finds for it, the best first."""
    for question, near in zip(asked, found, strict=True):
        words = content(question.text)
        source = f"{question.source}/found"
        for passage in near:
            answering = [
                sentence
                for sentence, shared in _nearest(passage, words)
                if question.is_answered_in(sentence)
                and (passage.id in question.gold or shared >= _ON_THE_SAME)
            ]
            if answering:
                said = show(passage.title, answering[0], rng, _TITLED)
                yield answer_row(said, question.text, True, f"{source} sentence")
                if not question.gold:
                    break
            if passage.id in question.gold:
                yield answer_row(passage.premise, question.text, True, f"{source} passage")
        others = [one for one in near if not question.is_answered_in(one.premise)]
        # The two nearest, and one from further down; of the second, only its nearest sentence.
        for passage in [*others[:2], *rng.sample(others[2:], min(1, len(others[2:])))]:
            if passage not in others[1:2]:
                yield answer_row(passage.premise, question.text, False, f"{source} passage")
            for sentence, _ in _nearest(passage, words)[:1]:
                said = show(passage.title, sentence, rng, _TITLED)
                yield answer_row(said, question.text, False, f"{source} sentence")


def _nearest(passage: Passage, words: set[str] | frozenset[str]) -> list[tuple[str, float]]:
    """The passage's sentences with the share of these words, the largest first.

    Words of the title count.
    """
    named = content(passage.title)
    scored = [
        (quote.text, len(words & (content(quote.text) | named)) / max(1, len(words)))
        for quote in quotes_in(passage)
        if quote.is_statement
    ]
    return sorted(scored, key=lambda one: -one[1])


def read_questions(data: Path) -> Iterator[Question]:
    """The questions of a data folder that may be trained on."""
    left_out = left_out_of(lines(data / "squad2_dev.jsonl"))
    texts = {
        row["id"]: row["text"]
        for row in lines(data / "passages.jsonl")
        if row["title"] not in left_out
    }
    for name in (*QUESTIONS, "squad", "webquestions"):
        rows = lines(data / f"{name}_dev.jsonl")
        if name == "squad":
            rows = Random(81).sample(rows, min(_FROM_SQUAD, len(rows)))
        for row in rows:
            named = row.get("gold_passages") or ()
            gold = [key for key in named if key in texts]
            if named and not gold:
                continue
            kept = is_ours(texts[gold[0]] if gold else row["question"])
            for pair in row.get("qa_pairs") or [row | {"short_answers": row["answers"]}]:
                answers = tuple(a for a in pair["short_answers"] if a)
                if kept and answers:
                    yield Question(pair["question"], answers, frozenset(gold), name)


def build(
    data: Annotated[Path, typer.Option(help="Folder of passages and questions.")],
    out: Annotated[Path, typer.Option(help="Folder to write one set for each question set to.")],
) -> None:
    """Write the pairs of each question set."""
    passages = [
        Passage(id=row["id"], title=row["title"], text=row["text"])
        for row in lines(data / "passages.jsonl")
    ]
    retriever = from_passages(passages, open_embedder(Settings()))
    asked = list(read_questions(data))
    found = asyncio.run(retrieve_many(retriever, [one.text for one in asked], _FOUND))
    rows = list(dict.fromkeys(pairs(asked, found, Random(91))))
    # Without a gold passage, most questions find no answer; they would teach how they are asked.
    known = {row.hypothesis for row in rows if row.entailed}
    rows = [row for row in rows if row.hypothesis in known]
    for name in dict.fromkeys(one.source for one in asked):
        save(out, f"mined_{name}", (row for row in rows if row.source.startswith(name)))


if __name__ == "__main__":
    typer.run(build)
