"""Makes pairs of a text and a question: does the text answer it?

The text is a passage, the sentences around the answer, or a claim that a writer might offer as
the answer. The question takes the place of the hypothesis, and the label is that of entailment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from citeproof.tools.sentences import sentences
from training import edits
from training.claims import Declarer
from training.make import Around, Asked, Text, crop, holds
from training.rows import Row, answer_row
from training.search import Search, search_in

_DEPTH = 12
"""Number of search results among which to look for passages that only seem to answer."""


def unanswerable(
    rows: Sequence[Mapping[str, Any]], pool: Mapping[str, Text], rng: Random
) -> Iterator[Row]:
    """SQuAD 2.0: questions with a passage that answers them, or only seems to."""
    for row in rows:
        keys = row["gold_passages"] or row["near_passages"]
        if keys and keys[0] in pool:
            text = pool[keys[0]]
            answers = row["answers"] if row["answerable"] else []
            cropped = answers and rng.random() < 0.3
            body = crop(text.text, answers[0], rng, row["question"]) if cropped else text.text
            yield answer_row(
                _shown(text, rng, body), row["question"], bool(answers), "squad2/passage"
            )


def answering(sets: Sequence[Asked], pool: Mapping[str, Text], rng: Random) -> Iterator[Row]:
    """Passages and claims that answer a question, and others close to them that do not.

    A passage of the same article, or one that shares many words, counts as no answer if it contains
    none of the set's answers.
    """
    around = Around.of(sets, pool)
    search = search_in({key: text.premise for key, text in pool.items()})
    declarer = Declarer.of(list(pool.values()))
    for item in sets:
        body = item.gold.text
        if rng.random() < 0.5:
            body = crop(body, item.answers[0], rng, item.question)
        yield answer_row(
            _shown(item.gold, rng, body), item.question, True, f"{item.source}/gold passage"
        )
        if siblings := around.siblings(item):
            shown = _shown(rng.choice(siblings), rng)
            yield answer_row(shown, item.question, False, f"{item.source}/same article")
        if (near := _near(item, pool, search)) and rng.random() < 0.7:
            shown = _shown(rng.choice(near[:4]), rng)
            yield answer_row(shown, item.question, False, f"{item.source}/like passage")
        yield from _claims(item, around, declarer, rng)


def _claims(item: Asked, around: Around, declarer: Declarer, rng: Random) -> Iterator[Row]:
    """Claims and sentences that answer, and others of the passage that do not."""
    answer, source = item.answers[0], item.source
    claim = declarer.sentence(item.question, answer)
    if claim and rng.random() < 0.7:
        yield answer_row(claim, item.question, True, f"{source}/claim")

    def shared(sentence: str) -> int:
        return len(_kinds(sentence) & _kinds(item.question))

    of_gold = sentences(item.gold.text)
    said = [s for s in of_gold if holds(s, answer)]
    if said and rng.random() < 0.4:
        named = edits.plainer(max(said, key=shared), item.gold.title, rng)
        if shared(named) >= 2:
            yield answer_row(named, item.question, True, f"{source}/sentence")
    others = [s for s in of_gold if not item.is_answered_in(s)]
    if others and rng.random() < 0.4:
        near = max(others, key=shared)
        text = near if rng.random() < 0.6 else rng.choice(others)
        named = edits.plainer(text, item.gold.title, rng)
        yield answer_row(named, item.question, False, f"{source}/other sentence")
    beside = [o for o in around.beside[item.gold.id] if not any(map(item.overlaps, o.answers))]
    if beside and rng.random() < 0.6:
        other = rng.choice(beside)
        claim = declarer.sentence(other.question, other.answers[0])
        if claim and not item.is_answered_in(claim):
            yield answer_row(claim, item.question, False, f"{source}/other claim")


def _near(item: Asked, pool: Mapping[str, Text], search: Search) -> list[Text]:
    """Passages with words of the question, but without an answer."""
    found = [pool[key] for key in search(item.question, _DEPTH)]
    elsewhere = [text for text in found if text.title != item.gold.title]
    return [text for text in elsewhere if not item.is_answered_in(text.premise)]


def _kinds(text: str) -> set[str]:
    return set(re.findall(r"\w{4,}", text.lower()))


def _shown(text: Text, rng: Random, part: str | None = None) -> str:
    """A part of a passage, or the whole passage, mostly with the title."""
    return text.shown(text.text if part is None else part, rng, 0.9)
