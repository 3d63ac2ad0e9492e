"""Do the passages answer the question at all? Asked before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from citeproof.agents.base import LLMNode, SearchNode
from citeproof.errors import ModelReplyError, VerifierOutageError
from citeproof.prompts import fill
from citeproof.runtime.events import PassagesRetrieved, emit
from citeproof.runtime.meter import note
from citeproof.state import MemoryState, SourceState, Update, append_new, memory_passages
from citeproof.tools.entailment import Entailment, halfway, premise
from citeproof.tools.entailment.base import blend_odds
from citeproof.tools.entailment.close_reader import CloseReader
from citeproof.tools.questions.answering import score_answers
from citeproof.tools.questions.parts import asks_yes_or_no, question_parts
from citeproof.tools.questions.sources import select_source
from citeproof.types import Passage

__all__ = ["AnswerabilityVerifier"]

_SMOOTHING = 3
"""From 2 to 8 it makes no difference (benchmarks/results/manual_questions.md)."""
_DOUBT = 0.25, 0.8
"""Scores of the best passage, from and to, at which the language model is asked."""
_BLEND = (0.5, 0.5)
"""Weights of the log-odds of both. With the embedded judge 44 of 45 questions of SQuAD, NQ and
CLAPNQ pass (without: 42), and 33 of 48 without an answer (27); of 50 on short documents of one's
own 35 of 37 (33) and 3 of 13 (5)."""


class AnswerabilityState(MemoryState, SourceState):
    """The keys that the verifier reads."""


@dataclass(frozen=True)
class AnswerabilityVerifier(SearchNode, LLMNode):
    """Says whether passages answer the question, and puts those that do first in the memory.

    Without a retriever it looks at the memory alone. Where the first passage leaves it in doubt,
    the language model is asked as well, if there is one.
    """

    answerability: Entailment | None = None
    """Scores a passage and the question; without it every memory counts as answering."""
    candidates: int = 20
    """Passages that are found and scored; the best of them are the memory."""
    check_answer: bool = True

    async def __call__(self, state: AnswerabilityState) -> Update:
        """Choose the memory among the candidates, and say whether it answers.

        The memory answers if one of its old passages answers the question or a part of it, or two
        of the best do so together. A passage from further down must score half-way from the
        threshold to 1, since some of so many seem to answer by chance.

        Raises:
            RetrievalError: The retriever failed.
        """
        memory = list(memory_passages(state).values())
        if self.answerability is None or not self.check_answer or not memory:
            return {"answerable": None}
        try:
            return await self._look_over(state, memory)
        except VerifierOutageError as error:
            note(f"whether the passages answer the question was not checked: {error}")
            return {"answerable": None}

    async def _look_over(self, state: AnswerabilityState, memory: list[Passage]) -> Update:
        assert self.answerability is not None
        question, limit = state["question"], self.answerability.threshold
        source, found = select_source(state, self.retriever), list[Passage]()
        if source is not None:
            [found] = await self.search(source, [question], self.candidates)
        read = append_new(memory, found)
        by_part = await self._scores(question, [passage.premise for passage in read])
        order = _rank(by_part)
        best = [read[place] for place in order][: len(memory)]
        if fresh := tuple(passage for passage in best if passage not in memory):
            emit(PassagesRetrieved(passages=fresh))
        scores = list(map(max, zip(*by_part, strict=True)))
        likeliest = _order(scores)[0]
        scores[likeliest] = await self._read_closely(question, read[likeliest])
        # The embedded judge finds no answer to a question for yes or no where none says "yes".
        for_judge = len(by_part) == 1 and not asks_yes_or_no(question)
        doubtful = for_judge and _DOUBT[0] <= max(scores) <= _DOUBT[1]
        if doubtful and (judged := await self._judge(question, best[0])) is not None:
            answerable = blend_odds((max(scores), judged), _BLEND) >= limit
        else:
            answerable = (
                max(scores[: len(memory)]) >= limit
                or max(scores) >= halfway(limit)
                or await self._answer_together(question, read, scores)
            )
        return {
            "answerable": answerable,
            "passages": append_new(best, list(state["passages"])),
            "long_term": [passage.id for passage in best],
        }

    async def _read_closely(self, question: str, passage: Passage) -> float:
        """The score of a passage whose likeliest sentence counts as much as the whole.

        In a passage of many things, such as a page of a manual, the one that is asked for is lost
        among the others: "A full battery lasts 14 hours at 4 °C, and 9 hours at -10 °C" answers a
        question about the cold with 0.54, the page that it stands on with 0.16.
        """
        assert self.answerability is not None
        reader = CloseReader(self.answerability)
        by_part = await score_answers(reader, question_parts(question), [passage.premise])
        return max(score for [score] in by_part)

    async def _judge(self, question: str, passage: Passage) -> float | None:
        """The language model's probability that a passage answers; None if it gives none.

        The claim's writer reads the same passage first, so the server reads it once.
        """
        if self.llm.absent:
            return None
        task = fill(self.template(), question=question)
        prompt = self.compose_prompt(question, {1: passage}, task)
        try:
            return (await self.llm.choose(prompt, ("Yes", "No")))["Yes"]
        except ModelReplyError as error:
            note(f"answerability_verifier: the passages were not judged ({error.what})")
            return None

    async def _answer_together(
        self, question: str, passages: Sequence[Passage], scores: Sequence[float]
    ) -> bool:
        """Whether two of the three best passages answer the question, as some need two.

        Of 53 HotpotQA questions 31 are answered by one of five retrieved passages, 36 so; of 47
        MuSiQue questions 10 and 18. Of 60 unanswerable ones of SQuAD 2.0 it is 25 both times.
        """
        assert self.answerability is not None
        best = [passages[place] for place in _order(scores)[:3]]
        texts = [premise(some) for some in combinations(best, 2)]
        by_part = await self._scores(question, texts) if texts else [[0.0]]
        # Several pairs are tried, of which some seem to answer by chance.
        return max(map(max, by_part)) >= halfway(self.answerability.threshold)

    async def _scores(self, question: str, texts: Sequence[str]) -> list[list[float]]:
        assert self.answerability is not None
        return await score_answers(self.answerability, question_parts(question), texts)


def _rank(by_part: Sequence[Sequence[float]]) -> list[int]:
    """The places of passages, the best first: by their order, and by the scores for each part.

    In each of these rankings a place counts by its reciprocal (Cormack et al. 2009), with a small
    constant, since few passages are ranked and the rankings are best at their top.
    """
    rankings = [range(len(by_part[0])), *map(_order, by_part)]
    fused = dict.fromkeys(rankings[0], 0.0)
    for ranking in rankings:
        for rank, place in enumerate(ranking):
            fused[place] += 1 / (_SMOOTHING + rank)
    return _order(list(fused.values()))


def _order(scores: Sequence[float]) -> list[int]:
    """The places of scores, the highest first."""
    return sorted(range(len(scores)), key=lambda place: -scores[place])
