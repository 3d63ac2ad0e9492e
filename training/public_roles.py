"""Turns QAMR, all questions about a sentence, into rows (Michael et al. 2018; MIT).

A sentence tells who did what to whom, so another question's answer is a wrong answer of the same
sentence.

python -m training.public_roles wiki-sentences.tsv dev.tsv test.tsv --out FILE
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from random import Random
from typing import Any, NamedTuple

import typer

from citeproof.tools.citations.marks import content
from training.edits import kind
from training.make import holds
from training.public import File, Files, Out, join_tokens
from training.public_questions import save_rows, share_of
from training.rows import Row, answer_row
from training.search import search_in


class _Role(NamedTuple):
    """A question about a sentence, and the words of the sentence that answer it."""

    key: str
    question: str
    answer: frozenset[int]
    every: frozenset[int]
    """The words in the answer of any annotator."""


def qamr(sentences: File, files: Files, out: Out, most: int = 12000) -> None:
    """Write rows of the questions on whose answer three annotators agree."""
    rng = Random(72)
    words = {}
    for line in sentences.read_text(encoding="utf-8").splitlines():
        key, text = line.split("\t")
        words[key] = text.split()
    shown = {key: _plain(tokens) for key, tokens in words.items()}
    found: dict[str, list[_Role]] = defaultdict(list)
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            role = _role(line.split("\t"))
            if role and len(content(role.question)) >= 2:
                found[role.key].append(role)
    search = search_in({key: shown[key] for key in found})

    def put(role: _Role) -> str:
        return _plain(words[role.key][at] for at in sorted(role.answer))

    def rows(role: _Role) -> Iterator[Row]:
        text, asked, answer = shown[role.key], content(role.question), put(role)
        yield Row(text, f"{role.question} {answer}", "entailed", "qamr/answer")
        wrong = [
            put(other)
            for other in found[role.key]
            if not other.every & role.every
            and _like(content(other.question), asked) < 0.6
            and not any(words[role.key][at].lower() in role.question.lower() for at in other.answer)
        ]
        if wrong:
            alike = [answered for answered in wrong if kind(answered) == kind(answer)]
            claim = f"{role.question} {rng.choice(alike or wrong)}"
            yield Row(text, claim, "not_entailed", "qamr/other answer")
        if rng.random() < 0.35:
            yield answer_row(text, role.question, True, "qamr/sentence")
        near = [
            shown[key]
            for key in search(role.question, 20)
            if key != role.key
            and not holds(shown[key], answer)
            and len(asked & content(shown[key])) >= 2
            and share_of(asked, content(shown[key])) < 0.9
        ]
        if near:
            best = max(near, key=lambda text: len(asked & content(text)))
            yield answer_row(best, role.question, False, "qamr/like sentence")

    roles = [role for group in found.values() for role in group]
    rng.shuffle(roles)
    made: list[Row] = []
    for role in roles:
        if len(made) < most:
            made += rows(role)
    save_rows(out, made)


def _role(fields: Sequence[str]) -> _Role | None:
    """A question, if the answers of its three annotators overlap well and are in one piece."""
    given = [fields[6]] + [value.partition(":")[2] for value in fields[7:9]]
    spans = [frozenset(int(at) for at in value.split()) for value in given]
    if not all(spans) or any(_like(one, two) < 0.6 for one, two in combinations(spans, 2)):
        return None
    best = Counter(spans).most_common(1)[0][0]
    if max(best) - min(best) != len(best) - 1:
        return None
    return _Role(fields[0], fields[5], best, frozenset().union(*spans))


def _plain(tokens: Iterable[str]) -> str:
    """The text of tokens as in the Penn Treebank, with single spaces."""
    text = " ".join(tokens).replace("-LSB- ", "[").replace(" -RSB-", "]").replace(" -- ", "–")
    return re.sub(" +", " ", join_tokens(text)).strip()


def _like(one: frozenset[Any] | set[Any], two: frozenset[Any] | set[Any]) -> float:
    return len(one & two) / max(1, len(one | two))


if __name__ == "__main__":
    typer.run(qamr)
