"""Which passages answer a question, and in which order they are read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, count
from typing import TypeVar

from citeproof.tools.entailment import Entailment, halfway, premise
from citeproof.tools.entailment.close_reader import CloseReader
from citeproof.tools.entailment.links import names_title
from citeproof.tools.questions.answering import pair_answers, score_answers
from citeproof.types import Passage

T = TypeVar("T")

_SMOOTHING = 3
"""Values from 2 to 8 make no difference (benchmarks/results/manual_questions.md)."""
_NOISE = 0.1
"""Lower scores tell nothing about which of two passages answers."""
_PLACE = 0.004
"""What a place in the search counts, as a score; values from 0.002 to 0.008 make no difference."""


async def score_passages(
    model: Entailment, parts: Sequence[str], passages: Sequence[Passage]
) -> list[list[float]]:
    """Return, for each part, the probability that each passage answers it; one batch."""
    return await score_answers(model, parts, [passage.premise for passage in passages])


async def read_closely(model: Entailment, parts: Sequence[str], passage: Passage) -> float:
    """The score of a passage, where its likeliest sentence counts as much as the whole.

    In a passage about many things, such as a page of a manual, the relevant one is lost among the
    others: "A full battery lasts 14 hours at 4 °C, and 9 hours at -10 °C" answers a question about
    the cold with 0.54, the page that contains it with 0.16. Rivals of the question would take as
    long again; on 140 questions of SQuAD 2.0 they change three scores, and no decision.
    """
    pairs = pair_answers(parts, [passage.premise])
    return max(await CloseReader(model).quick_scores(pairs))


async def answer_together(
    model: Entailment, parts: Sequence[str], passages: Sequence[Passage]
) -> bool:
    """Whether two of the passages together answer the question.

    Some questions need two: of 53 HotpotQA questions, 31 are answered by one of five retrieved
    passages, and 36 if pairs count too; of 47 MuSiQue questions, 10 and 18. Of 60 unanswerable
    questions of SQuAD 2.0, 25 count as answered either way.
    """
    texts = [premise(some) for some in combinations(passages, 2)]
    scores = [score for row in await score_answers(model, parts, texts) for score in row]
    # Among several pairs, some seem to answer by chance.
    return max(scores, default=0.0) >= halfway(model.threshold)


def rank_passages(by_part: Sequence[Sequence[float]]) -> list[int]:
    """The places of passages in a search, best first, by their scores for each part.

    Of 226 questions that no model has learned from, 104 of them in everyday words, the first
    passage has the evidence for 109 by the search, for 123 if ranks by search and by score are
    fused, and for 149 by the scores of the first 20; one of the first five for 160, 183 and 185.
    """
    return fuse_ranks([order(list(map(_weigh, row, count()))) for row in by_part])


def _weigh(score: float, place: int) -> float:
    return max(score, _NOISE) - _PLACE * place


def pick_likely(passages: Sequence[Passage], scores: Sequence[float]) -> list[Passage]:
    """The passages whose scores tell something, highest first."""
    return [passages[place] for place in order(scores) if scores[place] >= _NOISE]


def drop_unlikely(
    passages: Sequence[Passage], by_part: Sequence[Sequence[float]], sure: float
) -> list[Passage]:
    """Drop passages that tell nothing, if others surely answer each part of the question.

    A writer reads five passages for half a minute on two cores, and a small one is led astray by
    those beside the question. Of 60 questions of NQ and SQuAD, 54 of 55 passages with the evidence
    stay, and 3.2 and 2.5 of five passages on average. A passage that one of the others names stays
    too: of 46 HotpotQA questions, that keeps 74 of 74 passages with evidence, without it 70.

    Args:
        passages: The passages, at least one, in any order.
        by_part: For each part of the question, the probability that each passage answers it.
        sure: The score from which on a passage surely answers.
    """
    if any(max(scores) < sure for scores in by_part):
        return [*passages]
    telling = pick_likely(passages, list(map(max, zip(*by_part, strict=True))))
    return [
        one
        for one in passages
        if one in telling or any(names_title(other.text, one.title) for other in telling)
    ]


def fuse_ranks(rankings: Sequence[Sequence[T]]) -> list[T]:
    """Fuse rankings by reciprocal rank (Cormack et al. 2009).

    The constant is small, since there are few passages and the rankings are best at their top.
    """
    fused: dict[T, float] = {}
    for ranking in rankings:
        for rank, one in enumerate(ranking):
            fused[one] = fused.get(one, 0.0) + 1 / (_SMOOTHING + rank)
    return sorted(fused, key=lambda one: -fused[one])


def order(scores: Sequence[float]) -> list[int]:
    """The places of scores, highest first."""
    return sorted(range(len(scores)), key=lambda place: -scores[place])
