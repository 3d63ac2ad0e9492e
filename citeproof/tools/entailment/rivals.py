"""Rivals of a claim: with another name, number or command of its premise, or turned around.

"The UK had traditionally been an ally of Israel" leads an entailment model to accept the same of
the Netherlands, if the passage also names those: all words are there. Yet it accepts the claim with
the right name more readily. So a claim that a rival beats has its lead held against it.

On 491 claims that the cross-encoder accepts, 129 of them with another name or number put in, this
costs 5% of the proofs of right claims and 30% of the others (model card, "Rivals"). On claims that
tell how, with another command or label put in, it is 13%, and none of 205 right ones.
Where the premise has the opposite of one of the claim's words, it refuses 8 of 26 false claims and
1 of 26 true ones.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import TypeAlias

from citeproof.tools.entailment.base import Pair, blend_odds, log_odds, rescore
from citeproof.tools.entailment.numbers import read_figure
from citeproof.tools.entailment.opposites import turn_around
from citeproof.tools.entailment.spans import KINDS, find_spans, overlap, replace_span
from citeproof.tools.sentences import contains

Find: TypeAlias = Callable[[str, str], Sequence[str]]
Read: TypeAlias = Callable[[Sequence[Pair]], Awaitable[Mapping[Pair, float]]]

_CHANCE = 0.5
"""A lead in log-odds that counts for nothing: the right claim's best rival often has as much."""
_WEIGHT = 3.0
"""The weight of the rest of the lead."""
_MOST, _LISTED = 24, 8
"""Most rivals of a claim, and of one that is as long as a list. Claims on Wikipedia have 7 on
average. A list of thirty names with 24 rivals takes minutes, and another name changes it little."""
_LONG = 300
"""From this length on, in characters, a claim is as long as a list."""
_MEASURE = re.compile(r"(?<![\w.,-])\d+(?:[.,]\d+)*([^\W\d_]+)(?!\w)")
"""A number with its unit behind it, or an ordinal: `6km`, `6th`."""
_ORDINAL = ("st", "nd", "rd", "th")


def find_rivals(claim: str, premise: str) -> list[str]:
    """Return the claim with each of its names, numbers, dates, pieces of code or words replaced.

    Each is replaced by each span of its kind that the premise has and the claim has not, and words
    by their opposites. Names that share a word may mean the same; commands that do are different.
    The kinds take turns until there are `_MOST` rivals, or `_LISTED` if the claim is long.
    """
    swaps = [_swaps(claim, premise, kind) for kind in KINDS]
    turns = chain.from_iterable(zip_longest(*swaps, _swapped_measures(claim, premise)))
    rivals = dict.fromkeys(rival for rival in turns if rival is not None)
    most = _LISTED if len(claim) >= _LONG else _MOST
    return [*turn_around(claim, premise), *rivals][:most]


def _swaps(claim: str, premise: str, kind: str) -> Iterator[str]:
    others = [other for other in find_spans(premise, kind) if not contains(claim, other)]
    for said in find_spans(claim, kind):
        for other in others:
            if not _may_be_same(said, other, kind):
                yield replace_span(claim, said, other)


def _may_be_same(one: str, other: str, kind: str) -> bool:
    """Whether two spans of a kind may mean the same: names by their words, numbers by value."""
    if kind == "number":  # 12.5 and 13.5 share digits only, and 1,200 is 1200
        return not {*read_figure(one, "")}.isdisjoint(read_figure(other, ""))
    return kind != "code" and overlap(one, other)


def _swapped_measures(claim: str, premise: str) -> Iterator[str]:
    """Yield the claim with each measure replaced by those of the premise that have its unit."""
    own, others = (
        {found[0]: "th" if found[1] in _ORDINAL else found[1] for found in _MEASURE.finditer(text)}
        for text in (claim, premise)
    )
    for said, unit in own.items():
        for other, its_unit in others.items():
            if unit == its_unit and other not in own:
                yield replace_span(claim, said, other)


async def subtract_leads(
    pairs: Sequence[Pair],
    scores: Sequence[float],
    threshold: float,
    find: Find,
    read: Read,
    chance: float = _CHANCE,
    weight: float = _WEIGHT,
) -> list[float]:
    """Return the scores, lower where a rival of a hypothesis that reaches the threshold leads.

    Args:
        pairs: What was scored.
        scores: A score for each pair.
        threshold: The lowest score that counts.
        find: Finds the rivals of a hypothesis in a premise.
        read: Scores pairs, the given ones as well as their rivals, all in the same way.
        chance: A lead in log-odds that counts for nothing.
        weight: The weight of the rest of the lead.
    """
    rivals = {
        pair: [Pair(pair.premise, rival) for rival in found]
        for pair, score in zip(pairs, scores, strict=True)
        if score >= threshold and (found := find(pair.hypothesis, pair.premise))
    }
    known = await read(list(chain(rivals, *rivals.values()))) if rivals else {}

    def lower(score: float, pair: Pair) -> float:
        """Subtract the lead of the best rival, whose score is compared with the pair's own."""
        if pair not in rivals:
            return score
        best = max(known[rival] for rival in rivals[pair])
        lead = log_odds(best) - log_odds(known[pair]) - chance
        return rescore(score, blend_odds((score,), (1.0,), -weight * lead)) if lead > 0 else score

    return [lower(score, pair) for score, pair in zip(scores, pairs, strict=True)]
