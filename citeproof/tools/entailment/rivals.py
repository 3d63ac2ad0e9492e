"""Rivals of a claim: the same claim with another name, number or command of its premise.

"The UK had traditionally been an ally of Israel" leads an entailment model to accept the same of
the Netherlands, if the passage also names those: all words are there. Yet it accepts the claim with
the right name more readily. So a claim that a rival beats has its lead held against it.

On 491 claims that the cross-encoder accepts, 129 of them with another name or number put in, this
costs 5% of the proofs of right claims and 30% of the others (model card, "Rivals"). On claims that
tell how, with another command or label put in, it is 13%, and none of 205 right ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from citeproof.tools.entailment.base import blend_odds, log_odds
from citeproof.tools.entailment.spans import KINDS, find_spans, overlap, replace_span

_CHANCE = 0.5
"""A lead in log-odds that counts for nothing: the right claim's best rival often has as much."""
_WEIGHT = 3.0
"""The weight of the rest of the lead."""
_MOST = 24
"""Most rivals of a claim. Claims on Wikipedia have 7 on average."""


def find_rivals(claim: str, premise: str) -> list[str]:
    """Return the claim with each of its names, numbers, dates and pieces of code replaced.

    Each is replaced by each span of its kind that the premise has and the claim has not. Names that
    share a word may mean the same; commands that do are different.
    """
    rivals = dict.fromkeys(
        replace_span(claim, said, other)
        for kind in KINDS
        for said in find_spans(claim, kind)
        for other in find_spans(premise, kind)
        if other not in claim and (kind == "code" or not overlap(other, said))
    )
    return list(rivals)[:_MOST]


def subtract_lead(score: float, own: float, rivals: Sequence[float]) -> float:
    """Return the score of a claim, less the lead of its best rival.

    `own` is its score with the whole premise, by which the rivals are scored.
    """
    lead = log_odds(max(rivals, default=0.0)) - log_odds(own) - _CHANCE
    return blend_odds((score,), (1.0,), -_WEIGHT * lead) if lead > 0 else score
