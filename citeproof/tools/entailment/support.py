"""Finds the passages that prove a claim: the fewest that do, and at most three.

VTG reads its whole memory as one premise (Sun et al., section 2.3). An entailment model then finds
support that no passage gives: on 160 pairs its area under the curve falls from .86 with the right
passage alone to .73 with four others around it. So passages are scored one by one, and together
only in twos and threes. A claim that no such set entails is not proved.

Of 47 false claims that no passage proves, 12 have a pair among three close passages that scores
over the threshold, but only 2 have one over the midpoint between the threshold and 1. So two
passages must reach that midpoint, and three the midpoint between it and 1. The passages must also
be linked (`are_linked`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice, repeat
from typing import Literal

from citeproof.errors import VerifierOutageError
from citeproof.runtime.meter import note
from citeproof.tools.entailment.antecedents import continues_quote, name_pronoun
from citeproof.tools.entailment.base import (
    Entailment,
    Pair,
    QuickEntailment,
    contradicts,
    halfway,
    pair,
)
from citeproof.tools.entailment.links import are_linked
from citeproof.tools.entailment.matter import is_about, is_of_subject, longer_words
from citeproof.tools.entailment.rounds import Asking, ask_in_rounds
from citeproof.types import Passage, Verdict

Premise = Literal["fewest", "whole"]
"""The premise that must entail a claim: the fewest passages that do (`find_support`), or all that
a verifier looks at (`whole_support`), which the simplifier then trims (`trimmed_support`)."""

OUTAGE = "the entailment model did not answer"
"""The reason given for a claim that could not be checked."""
MOST = 3
"""Most passages of a set."""
_TRIED = 4
"""Passages that larger sets are formed of: those that score best on their own."""
_SAME = 0.75
"""If the titles contain this share of the claim's longer words, the passages are read again without
titles."""


@dataclass(frozen=True)
class Support:
    """The support of passages for a claim."""

    passages: dict[int, Passage]
    """Number → passage of the smallest set that entails the claim; if none does, only the passage
    with the best score."""
    score: float
    """The probability that they entail the claim; 0 without passages. A plain number, which
    checkpointers can write."""
    holds: bool
    """Whether they entail the claim."""
    against: dict[int, Passage] = field(default_factory=dict)
    """The passages that contradict the claim, each on its own."""

    @property
    def opposing(self) -> tuple[str, ...]:
        """The ids of the passages that contradict the claim."""
        return tuple(passage.id for passage in self.against.values())

    def verdict(self, tier: Literal["cited", "memory"], trials: int = 1) -> Verdict:
        """Return a verifier's verdict on the claim, after `trials` attempts to write it."""
        status: Literal["supported", "contradicted", "unsupported"] = "unsupported"
        if self.holds:
            status = "supported"
        elif self.against:
            status = "contradicted"
        return Verdict(status=status, tier=tier, score=self.score, trials=trials)


def unchecked(error: VerifierOutageError, trials: int = 1) -> Verdict:
    """Return, and note, the verdict on a claim that the entailment model's server did not score."""
    note(f"claims were not checked: {error}")
    return Verdict(status="unchecked", trials=trials, reason=OUTAGE)


async def find_support(
    entailment: Entailment,
    question: str,
    passages: Mapping[int, Passage],
    claim: str,
    *,
    fewest: bool = True,
    before: str = "",
) -> Support:
    """Find the fewest of numbered passages that entail a claim; of such sets, the best-scoring one.

    Pairs are tried if no single passage entails the claim, and sets of three if no pair does. Pairs
    must score half-way from the threshold to 1, sets of three half-way from there to 1, and their
    passages must be linked. No passage of a set can be left out, except one that links others,
    since all smaller sets were tried.

    Unless `fewest`, up to three passages that entail the claim together suffice for an expensive
    model (`reads_many`), without a search for fewer. The question is for the pairs' prefix.

    A claim that opens with a pronoun is read with what that may stand for in the text `before` it
    or in the question, and only against passages that name it; see `name_pronoun`.
    """
    claims = [(passages, claim)]
    [support] = await find_supports(entailment, question, claims, fewest=fewest, before=[before])
    return support


async def find_supports(
    entailment: Entailment,
    question: str,
    claims: Sequence[tuple[Mapping[int, Passage], str]],
    *,
    fewest: bool = True,
    before: Sequence[str] = (),
) -> list[Support]:
    """Run `find_support` for several claims, each with its passages; each round is one batch.

    `before` is empty, or has the text before each claim.
    """
    reads_many = bool(getattr(entailment, "reads_many", False))
    enough = (1 if fewest else MOST) if reads_many else 0
    quick_scores, final_below = entailment.scores, math.inf
    if isinstance(entailment, QuickEntailment):
        quick_scores, final_below = entailment.quick_scores, entailment.final_below
    limits = entailment.threshold, final_below

    async def ask(requests: Sequence[Pair | _Quick]) -> list[float]:
        """Score pairs, some of them quickly."""
        quick = [one.pair for one in requests if isinstance(one, _Quick)]
        others = [one for one in requests if isinstance(one, Pair)]
        quickly = iter(await quick_scores(quick) if quick else ())
        fully = iter(await entailment.scores(others) if others else ())
        return [next(quickly if isinstance(one, _Quick) else fully) for one in requests]

    asked = question.rstrip(" ?") + "?"  # apart from the text behind it
    read = [
        list(_readings(passages, claim, f"{asked} {text}"))
        for (passages, claim), text in zip(claims, before or repeat(""), strict=False)
    ]
    searches = [_search(question, *one, *limits, enough) for some in read for one in some]
    found = iter(await ask_in_rounds(searches, ask))
    return [max(islice(found, len(some)), key=lambda one: (one.holds, one.score)) for some in read]


def _readings(
    passages: Mapping[int, Passage], claim: str, before: str
) -> Iterator[tuple[Mapping[int, Passage], str]]:
    """Yield what a claim may say, with the passages that may prove it."""
    readings = name_pronoun(claim, before)
    quoted = dict[int, Passage]()
    if readings[0].name:
        quoted = {n: p for n, p in passages.items() if continues_quote(claim, before, p)}
    if quoted:
        yield quoted, claim
    else:
        yield from ((one.select(passages), one.text) for one in readings)


async def whole_support(
    entailment: Entailment, question: str, passages: Mapping[int, Passage], claim: str
) -> Support:
    """Check whether all passages as one premise entail a claim (VTG, section 2.3)."""
    if not passages:
        return Support({}, 0.0, holds=False)
    [score] = await entailment.scores([pair(question, passages, claim)])
    return Support(dict(passages), float(score), holds=score >= entailment.threshold)


async def trimmed_support(
    entailment: Entailment,
    question: str,
    passages: Mapping[int, Passage],
    claim: str,
    score: float,
) -> Support:
    """Drop unneeded passages from a set that entails a claim (VTG, section 2.3).

    Leaves out each passage once, in order of their numbers, and drops it if the others still entail
    the claim. `score` is that of all passages together.
    """
    left = dict(sorted(passages.items()))
    for number in sorted(passages):
        others = {n: passage for n, passage in left.items() if n != number}
        support = await whole_support(entailment, question, others, claim)
        if support.holds:
            left, score = others, support.score
    return Support(left, score, holds=True)


@dataclass(frozen=True)
class _Quick:
    """A pair whose quick score is asked for."""

    pair: Pair


def _search(
    question: str,
    passages: Mapping[int, Passage],
    claim: str,
    threshold: float,
    final_below: float,
    enough: int,
) -> Asking[Pair | _Quick, float, Support]:
    """Ask for the scores of pairs, and return the support; see `find_support`.

    A set whose quick score is not final is only scored if those with higher ones support nothing.
    If `enough` is not 0, all passages are first scored together, and up to so many may support the
    claim untrimmed.
    """
    numbers = sorted(passages)
    if not numbers:
        return Support({}, 0.0, holds=False)
    if enough and len(numbers) > 1:
        [together] = yield [pair(question, passages, claim)]
        if together < threshold or len(numbers) <= enough:
            return Support(dict(passages), float(together), holds=together >= threshold)
    scores: dict[tuple[int, ...], float] = {}
    against: dict[int, Passage] = {}
    limit = threshold
    for size in range(1, min(MOST, len(numbers)) + 1):
        tried = numbers
        if size > 1:
            limit = halfway(limit)
            tried = sorted(sorted(numbers, key=lambda n: -scores[(n,)])[:_TRIED])
        sets = [
            some
            for some in combinations(tried, size)
            if are_linked([passages[number] for number in some], claim)
        ]
        if not sets:
            continue
        pairs = {some: pair(question, {n: passages[n] for n in some}, claim) for some in sets}
        given = yield [_Quick(pairs[some]) for some in sets]
        scores |= dict(zip(sets, given, strict=True))
        sets.sort(key=lambda some: -scores[some])
        quick = [some for some in sets if scores[some] >= final_below]
        final = [some for some in sets if scores[some] < final_below]
        if size == 1:
            against = {n: passages[n] for n in numbers if denies(passages[n], claim, scores[(n,)])}
        while final or quick:
            best = max(final, key=lambda some: scores[some], default=None)
            if best is None or scores[best] < limit:
                if not quick:
                    break
                best = quick.pop(0)
                [scores[best]] = yield [pairs[best]]
                final.append(best)
                continue
            chosen = {number: passages[number] for number in best}
            if _rests_on_titles(chosen.values(), claim):
                [said] = yield [Pair("\n".join(p.text for p in chosen.values()), claim)]
                scores[best] = min(scores[best], said)
            if scores[best] >= limit:
                return Support(chosen, float(scores[best]), holds=True, against=against)
    nearest = max(numbers, key=lambda number: scores[(number,)])
    return Support(
        {nearest: passages[nearest]}, float(scores[(nearest,)]), holds=False, against=against
    )


def denies(passage: Passage, claim: str, score: float) -> bool:
    """Whether a passage contradicts a claim, judging by their score and their words.

    An entailment model also finds contradictions between texts on different matters, so the passage
    must have the claim's subject or most of its longer words.
    """
    return contradicts(score) and is_of_subject(f"{passage.title} {passage.text}", claim)


def _rests_on_titles(passages: Iterable[Passage], claim: str) -> bool:
    """Whether the claim says hardly more than the titles, which prove nothing on their own."""
    titles = " ".join(passage.title for passage in passages)
    return bool(longer_words(claim)) and is_about(titles, claim, _SAME)
