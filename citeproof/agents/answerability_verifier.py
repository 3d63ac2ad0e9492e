"""Do the passages answer the question at all? Asked before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from citeproof.agents.base import SearchNode
from citeproof.errors import VerifierOutageError
from citeproof.runtime.events import PassagesRetrieved, emit
from citeproof.runtime.meter import note
from citeproof.state import MemoryState, SourceState, Update, append_new, memory_passages
from citeproof.tools.entailment import (
    Entailment,
    Pair,
    halfway,
    premise,
    question_hypothesis,
)
from citeproof.tools.questions.parts import question_parts
from citeproof.tools.questions.sources import select_source
from citeproof.types import Passage

__all__ = ["AnswerabilityVerifier", "score_answers"]


class AnswerabilityState(MemoryState, SourceState):
    """The keys that the verifier reads."""


@dataclass(frozen=True)
class AnswerabilityVerifier(SearchNode):
    """Keeps the memory where one of its passages answers the question; else looks further down.

    Without a retriever it looks at the memory alone.
    """

    answerability: Entailment | None = None
    """Scores a passage and the question; without it every memory will do."""
    deeper: int = 10
    """Passages that are found in the second search. Of many some seem to answer by chance, so these
    must score half-way from the threshold to 1."""
    check_answer: bool = True

    async def __call__(self, state: AnswerabilityState) -> Update:
        """Say whether a passage answers the question, or a part of it, or two of the best together.

        Where none do, more passages are found, and those that answer take the places of the
        last of the memory. Where none of these answers either, `answerable` is False, and the
        memory holds the passages that came nearest, the best first.

        Raises:
            RetrievalError: The retriever failed.
        """
        memory = list(memory_passages(state).values())
        if self.answerability is None or not self.check_answer or not memory:
            return {"answerable": None}
        try:
            return await self._looked_over(state, memory)
        except VerifierOutageError as error:
            note(f"whether the passages answer the question was not checked: {error}")
            return {"answerable": None}

    async def _looked_over(self, state: AnswerabilityState, memory: list[Passage]) -> Update:
        assert self.answerability is not None
        question, limit = state["question"], self.answerability.threshold
        scores = await self._scores(question, memory)
        if max(scores.values()) >= limit or await self._answer_together(question, memory, scores):
            return {"answerable": True}
        source, further = select_source(state, self.retriever), list[Passage]()
        if source is not None:
            [found] = await self.search(source, [question], self.deeper)
            further = [passage for passage in found if passage.id not in scores]
        if further:
            emit(PassagesRetrieved(passages=tuple(further)))
            scores |= await self._scores(question, further)
            limit = halfway(limit)
        best = sorted([*memory, *further], key=lambda passage: -scores[passage.id])[: len(memory)]
        answerable = scores[best[0].id] >= limit
        if answerable:  # what was ranked high stays, as far as there is room
            found = [passage for passage in best if scores[passage.id] >= limit]
            best = append_new(found, memory)[: len(memory)]
        return {
            "answerable": answerable,
            "passages": append_new(list(state["passages"]), best),
            "long_term": [passage.id for passage in best],
        }

    async def _answer_together(
        self, question: str, passages: list[Passage], scores: dict[str, float]
    ) -> bool:
        """Whether two of the three best passages answer the question, as some need two.

        Of 53 HotpotQA questions 31 are answered by one of five retrieved passages, 36 so; of 47
        MuSiQue questions 10 and 18. Of 60 unanswerable ones of SQuAD 2.0 it is 25 both times.
        """
        assert self.answerability is not None
        best = sorted(passages, key=lambda passage: -scores[passage.id])[:3]
        texts = [premise(some) for some in combinations(best, 2)]
        if not texts:
            return False
        by_part = await score_answers(self.answerability, question_parts(question), texts)
        # Several pairs are tried, of which some seem to answer by chance.
        return max(map(max, by_part)) >= halfway(self.answerability.threshold)

    async def _scores(self, question: str, passages: list[Passage]) -> dict[str, float]:
        assert self.answerability is not None
        texts = [passage.premise for passage in passages]
        by_part = await score_answers(self.answerability, question_parts(question), texts)
        best = map(max, zip(*by_part, strict=True))
        return {passage.id: score for passage, score in zip(passages, best, strict=True)}


async def score_answers(
    answerability: Entailment, questions: Sequence[str], texts: Sequence[str]
) -> list[list[float]]:
    """For each question the probability of each text, in order, that it answers it; one batch."""
    pairs = [Pair(text, question_hypothesis(asked)) for asked in questions for text in texts]
    scores = iter(await answerability.scores(pairs) if pairs else [])
    return [[next(scores) for _ in texts] for _ in questions]
