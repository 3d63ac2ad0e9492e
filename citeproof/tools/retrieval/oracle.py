"""Passages chosen by the gold answers (ALCE, section 3: ORACLE).

For measuring what an answerer makes of good passages. No graph sees the gold answers: they end
here, and only the passages go on, as the `documents` of a question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citeproof.tools.entailment import Entailment, Pair
from citeproof.types import Passage

__all__ = ["oracle_passages", "oracle_passages_for_claims"]

_WORD = re.compile(r"\w+")
_ARTICLES = frozenset({"a", "an", "the"})


def oracle_passages(
    candidates: Sequence[Passage], answers: Sequence[Sequence[str]], k: int = 5
) -> list[Passage]:
    """The k candidates, or fewer, that cover the most answers.

    Each step takes the candidate that holds the most answers not yet covered, the higher-ranked
    among equals; the rest is filled up in order. An answer stands in a passage where one of its
    aliases does, word for word but for case, punctuation and articles.

    Args:
        candidates: In the order of retrieval.
        answers: The aliases of each answer.
        k: At least 1.
    """
    texts = [_normalize(f"{passage.title} {passage.text}") for passage in candidates]
    wanted = [[_normalize(alias) for alias in aliases] for aliases in answers]
    held = [
        {n for n, aliases in enumerate(wanted) if any(a.strip() and a in text for a in aliases)}
        for text in texts
    ]
    return _cover(candidates, held, k)


async def oracle_passages_for_claims(
    candidates: Sequence[Passage], claims: Sequence[str], entailment: Entailment, k: int = 5
) -> list[Passage]:
    """`oracle_passages` where the gold is claims, as for ELI5: a passage holds what it entails."""
    pairs = [Pair(passage.premise, claim) for passage in candidates for claim in claims]
    scores = iter(await entailment.scores(pairs) if pairs else [])
    held = [
        {n for n, _ in enumerate(claims) if next(scores) >= entailment.threshold}
        for _ in candidates
    ]
    return _cover(candidates, held, k)


def _cover(candidates: Sequence[Passage], held: Sequence[set[int]], k: int) -> list[Passage]:
    rest = list(range(len(candidates)))
    chosen: list[Passage] = []
    covered: set[int] = set()
    while rest and len(chosen) < k:
        best = max(rest, key=lambda place: len(held[place] - covered))
        covered |= held[best]
        rest.remove(best)
        chosen.append(candidates[best])
    return chosen


def _normalize(text: str) -> str:
    words = (word for word in _WORD.findall(text.casefold()) if word not in _ARTICLES)
    return f" {' '.join(words)} "
