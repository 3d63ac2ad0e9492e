"""Finds passages that say otherwise than a proved claim.

What proves a claim is mostly found at once, and the other passages are not read for it then. But an
answer that one document states and another denies is no plain answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from citeproof.tools.entailment.base import Entailment, QuickEntailment, contradiction_of, pair
from citeproof.tools.entailment.matter import is_of_subject
from citeproof.types import Passage

_SURE = 0.75
"""Least probability of contradiction. Of 410 pairs of a proved claim and a passage found for the
same question, the models are that sure of none, and of one from 0.5 on, wrongly. Of 100 claims that
FEVER's evidence refutes, 41 are found, and of 100 others none."""


async def find_disputes(
    entailment: Entailment, question: str, claims: Sequence[tuple[str, Mapping[int, Passage]]]
) -> list[dict[int, Passage]]:
    """Return, for each claim, those of its numbered passages that surely contradict it; one batch.

    Only passages with the claim's subject, or most of its words, are read. A model without quick
    scores mostly is expensive, or does not tell contradictions: it finds none.

    Raises:
        VerifierOutageError: The model does not answer.
    """
    read = [
        (place, number, passage)
        for place, (claim, passages) in enumerate(claims)
        for number, passage in passages.items()
        if is_of_subject(f"{passage.title} {passage.text}", claim)
    ]
    found: list[dict[int, Passage]] = [{} for _ in claims]
    if not read or not isinstance(entailment, QuickEntailment) or entailment.final_below == inf:
        return found
    pairs = [pair(question, {1: passage}, claims[place][0]) for place, _, passage in read]
    scores = await entailment.quick_scores(pairs)
    for (place, number, passage), score in zip(read, scores, strict=True):
        if (contradiction_of(score) or 0.0) >= _SURE:
            found[place][number] = passage
    return found
