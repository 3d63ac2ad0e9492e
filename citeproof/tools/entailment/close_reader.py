"""Reads a premise twice: whole, and the few sentences of it that come closest to the claim.

A long premise that repeats the claim's words from line to line misleads a model of entailment: the
claim seems stated where only its parts are. Sentence by sentence it does not; but then facts that
span several sentences get lost. The mean of both log-odds tells true from false claims better than
either: on 242 claims made to mislead its area is 0.80 in place of 0.76, on 220 of WiCE 0.80 in
place of 0.77, on 138 hard cases 0.69 in place of 0.66, and on claims made of questions the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from citeproof.tools.entailment.base import Entailment, Pair, Score, blend_odds
from citeproof.tools.sentences import split

_PASSAGE = re.compile(r"^(?=Title: )", re.MULTILINE)
_FLOOR = 0.1
"""A premise that scores less is not read again: an excerpt would have to score 0.95."""
_MOST = 20_000
"""Scores kept: the sets of passages that are tried for a claim share them."""


class CloseReader:
    """An entailment model that reads excerpts of a premise beside the whole.

    An excerpt is a sentence, or two that follow one another, under the title of its passage. Of
    several passages the best excerpt of each is taken, all together. The best excerpt's score and
    that of the whole have the same weight.

    Args:
        first: Scores whole premises and excerpts.
    """

    def __init__(self, first: Entailment) -> None:
        self._first = first
        self._known: dict[Pair, float] = {}
        self.name = name_close_reader(first.name)
        """The model, and that it reads twice, so that kept scores are not mixed up."""
        self.threshold = first.threshold

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The probability of entailment of each pair, in order; see the class.

        Raises:
            ModelError: The model cannot be had.
        """
        known = await self._read(pairs)
        scores = [known[pair] for pair in pairs]
        again = {
            i: cut
            for i, (pair, score) in enumerate(zip(pairs, scores, strict=True))
            if score >= _FLOOR and (cut := excerpts(pair.premise))
        }
        known |= await self._read(
            Pair(text, pairs[i].hypothesis)
            for i, cut in again.items()
            for some in cut
            for text in some
        )
        closest = {i: _closest(cut, pairs[i].hypothesis, known) for i, cut in again.items()}
        known |= await self._read(closest.values())
        for i, excerpt in closest.items():
            score = blend_odds((scores[i], known[excerpt]), (0.5, 0.5))
            scores[i] = Score(score, getattr(scores[i], "contradiction", None))
        return scores

    async def _read(self, asked: Iterable[Pair]) -> dict[Pair, float]:
        """The scores of pairs, the new ones in one batch."""
        pairs = dict.fromkeys(asked)
        kept = self._known  # another thread's run may put a new one in its place
        known = {pair: kept[pair] for pair in pairs if pair in kept}
        new = [pair for pair in pairs if pair not in known]
        if new:
            known |= dict(zip(new, await self._first.scores(new), strict=True))
        if len(self._known) > _MOST:
            self._known = {}
        self._known |= known
        return known


def name_close_reader(model: str) -> str:
    """The name of the close reader of a model."""
    return f"{model} read closely"


def excerpts(premise: str) -> list[list[str]]:
    """The excerpts of each passage of a premise; none where that is no longer than one is.

    Args:
        premise: Passages as `premise` in `base.py` joins them, or any text.
    """
    passages = [passage.strip() for passage in _PASSAGE.split(premise) if passage.strip()]
    cut = [list(_of_passage(passage)) for passage in passages]
    return cut if any(len(some) > 1 for some in cut) else []


def _of_passage(passage: str) -> Iterator[str]:
    """Each sentence, and each two that follow one another, under the title."""
    title, _, text = passage.partition("\n") if passage.startswith("Title: ") else ("", "", passage)
    if not (said := [text[span.start : span.end] for span in split(text)]):
        yield passage  # nothing but a title
        return
    above = f"{title}\n" if title else ""
    yield from (above + sentence for sentence in said)
    yield from (f"{above}{first} {second}" for first, second in pairwise(said))


def _closest(cut: Sequence[Sequence[str]], claim: str, known: Mapping[Pair, float]) -> Pair:
    """The best excerpt of each passage, all together."""
    best = [max(some, key=lambda text: known[Pair(text, claim)]) for some in cut]
    return Pair("\n".join(best), claim)
