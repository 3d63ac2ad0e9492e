"""Chooses passages by the gold answers (ALCE, section 3: ORACLE).

For measuring what an answerer makes of good passages. No graph sees the gold answers: only the
chosen passages are passed on, as the `documents` of a question.
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
    """Choose the k candidates, or fewer, that cover the most answers.

    Each step takes the candidate with the most answers not yet covered, and among equals the
    higher-ranked one. The remaining places are filled in order. A passage holds an answer, which is
    given by its aliases, if it contains one of them, ignoring case, punctuation and articles.
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
    """Run `oracle_passages` on gold claims, as for ELI5: a passage holds what it entails."""
    pairs = [Pair(passage.premise, claim) for passage in candidates for claim in claims]
    scores = iter(await entailment.scores(pairs) if pairs else [])
    held = [
        {n for n in range(len(claims)) if next(scores) >= entailment.threshold} for _ in candidates
    ]
    return _cover(candidates, held, k)


def _cover(candidates: Sequence[Passage], held: Sequence[set[int]], k: int) -> list[Passage]:
    rest = list(zip(candidates, held, strict=True))
    chosen: list[Passage] = []
    covered: set[int] = set()
    while rest and len(chosen) < k:
        best = max(rest, key=lambda one: len(one[1] - covered))
        rest.remove(best)
        chosen.append(best[0])
        covered |= best[1]
    return chosen


def _normalize(text: str) -> str:
    words = (word for word in _WORD.findall(text.casefold()) if word not in _ARTICLES)
    return f" {' '.join(words)} "
