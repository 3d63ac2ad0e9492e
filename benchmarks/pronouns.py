"""Measures claims that open with a pronoun: are they proved for what the pronoun stands for?

    python benchmarks/pronouns.py POOL.jsonl [--claims 120] [--seed 2]

A claim is a sentence of a passage that opens with a pronoun. It is true after the sentence before
it, and false after such a sentence of another passage. Both are checked against the passage of the
claim, with the text before it and alone, by the cross-encoder without a judge. Rows of the pool
have `id`, `title` and `text`.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from common import read_lines, table, write

from citeproof import Settings, Toolbox
from citeproof.tools.entailment import find_supports
from citeproof.tools.entailment.base import Pair, QuickEntailment
from citeproof.tools.sentences import sentences
from citeproof.types import Passage

PRONOUN = re.compile(r"(?:It|He|She|They|Its|His|Their)\b")
QUOTED = re.compile(r'[“"]')
WORDS = range(7, 30)


class Said(NamedTuple):
    """A sentence that opens with a pronoun, and the one before it."""

    passage: Passage
    before: str
    claim: str


class Quick:
    """The scores of the cross-encoder alone."""

    def __init__(self, model: QuickEntailment) -> None:
        self.name, self.threshold, self._model = model.name, model.threshold, model

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The probability that each premise entails its hypothesis."""
        return await self._model.quick_scores(pairs)


def read(rows: Sequence[dict[str, Any]]) -> Iterator[Said]:
    """Yield the first such sentence of each passage."""
    for row in rows:
        for before, claim in pairwise(sentences(row["text"])):
            is_fit = len(before.split()) in WORDS and len(claim.split()) in WORDS
            opens = PRONOUN.match(claim) and not PRONOUN.match(before)
            if is_fit and opens and not QUOTED.search(before + claim):
                passage = Passage(id=row["id"], text=row["text"], title=row["title"])
                yield Said(passage, before, claim)
                break


def swap(said: Sequence[Said], rng: random.Random) -> Iterator[Said]:
    """Yield the claims after a sentence on another topic that the same pronoun follows."""
    for one in said:
        opening = one.claim.split()[0]
        others = [
            other.before
            for other in said
            if other.claim.split()[0] == opening and other.passage.title != one.passage.title
        ]
        if others:
            yield one._replace(before=rng.choice(others))


async def measure(model: QuickEntailment, said: Sequence[Said], *, in_context: bool) -> str:
    claims = [({1: one.passage}, one.claim) for one in said]
    before = [one.before if in_context else "" for one in said]
    found = await find_supports(Quick(model), "", claims, before=before)
    proved = sum(support.holds for support in found)
    return f"{proved} of {len(said)} ({proved / len(said):.0%})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pool", type=Path)
    parser.add_argument("--claims", type=int, default=120)
    parser.add_argument("--seed", type=int, default=2)
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    rows = read_lines(chosen.pool)
    rng.shuffle(rows)
    said = list(islice(read(rows), chosen.claims))
    sets = {"true": said, "false": list(swap(said, rng))}
    with Toolbox.from_settings(Settings()) as tools:
        model = tools.entailment
        if not isinstance(model, QuickEntailment):
            parser.error("the entailment model has no quick scores")
        lines = [
            (name, *(asyncio.run(measure(model, some, in_context=x)) for x in (False, True)))
            for name, some in sets.items()
        ]
    write(None, table(("claims", "proved alone", "proved with the text before"), lines))


if __name__ == "__main__":
    main()
