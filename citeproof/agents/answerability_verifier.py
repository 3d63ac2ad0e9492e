"""Checks whether the passages answer the question at all, before anything is written."""

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
"""Values from 2 to 8 make no difference (benchmarks/results/manual_questions.md)."""
_DOUBT = 0.25, 0.8
"""Range of the best passage's score in which the language model is asked too."""
_BLEND = (0.5, 0.5)
"""Weights of the log-odds of both models. Of the questions of SQuAD, NQ and CLAPNQ, 44 of 45 with
an answer pass with the embedded judge (42 without it), and 33 of 48 without an answer (27). Of 50
questions on short documents, 35 of 37 with an answer pass (33), and 3 of 13 without (5)."""
_TRIED = 0.75
"""From this share of the threshold on, the writer tries, and the answer says that it is not sure.
Of 24 questions on PDF files in other words than the document's, four lie between, and three of them
get the right answer. Of 28 trick questions of SQuAD 2.0, six do: three get a flagged claim, two a
proved one beside the question, and one a proved one that is false."""
UNSURE = "It is not sure that the passages answer the question."


class AnswerabilityState(MemoryState, SourceState):
    """The keys that the verifier reads."""


@dataclass(frozen=True)
class AnswerabilityVerifier(SearchNode, LLMNode):
    """Decides whether passages answer the question, and puts the best ones first in the memory.

    Without a retriever, it reads only the memory. If the score of the best passage leaves the
    decision in doubt, it also asks the language model, if there is one.
    """

    answerability: Entailment | None = None
    """Scores whether a passage answers the question; without it, every memory counts as
    answering."""
    candidates: int = 20
    """Number of passages to find and score; the best become the memory."""
    check_answer: bool = True

    async def __call__(self, state: AnswerabilityState) -> Update:
        """Choose the memory from the candidates, and decide whether it may answer the question.

        `doubt` says so if that is not sure.

        The memory answers if one of its old passages answers the question or a part of it, or if
        two of the best passages do so together. A newly found passage must score half-way from
        the threshold to 1, since among so many, some seem to answer by chance.
        """
        memory = list(memory_passages(state).values())
        if self.answerability is None or not self.check_answer or not memory:
            return {"answerable": None}
        try:
            return await self._look_over(state, memory, self.answerability)
        except VerifierOutageError as error:
            note(f"whether the passages answer the question was not checked: {error}")
            return {"answerable": None}

    async def _look_over(
        self, state: AnswerabilityState, memory: list[Passage], model: Entailment
    ) -> Update:
        question, limit = state["question"], model.threshold
        parts = question_parts(question)
        source, found = select_source(state, self.retriever), list[Passage]()
        if source is not None:
            [found] = await self.search(source, [question], self.candidates)
        read = append_new(memory, found)
        by_part = await score_answers(model, parts, [passage.premise for passage in read])
        best = [read[place] for place in _rank(by_part)][: len(memory)]
        if fresh := tuple(passage for passage in best if passage not in memory):
            emit(PassagesRetrieved(passages=fresh))
        scores = list(map(max, zip(*by_part, strict=True)))
        likeliest = _order(scores)[0]
        scores[likeliest] = await _read_closely(model, parts, read[likeliest])
        # The embedded judge finds no answer to a yes/no question unless a passage says "yes".
        for_judge = len(by_part) == 1 and not asks_yes_or_no(question)
        doubt = ""
        doubtful = for_judge and _DOUBT[0] <= max(scores) <= _DOUBT[1]
        if doubtful and (judged := await self._judge(question, read[likeliest])) is not None:
            score = blend_odds((max(scores), judged), _BLEND)
            answerable = score >= _TRIED * limit
            doubt = UNSURE if answerable and score < limit else ""
        else:
            answerable = (
                max(scores[: len(memory)]) >= limit
                or max(scores) >= halfway(limit)
                or await _answer_together(model, parts, [read[n] for n in _order(scores)[:3]])
            )
        return {
            "answerable": answerable,
            "doubt": doubt,
            "passages": append_new(best, list(state["passages"])),
            "long_term": [passage.id for passage in best],
        }

    async def _judge(self, question: str, passage: Passage) -> float | None:
        """The language model's probability that a passage answers; None if it gives none.

        The writer's prompt mostly begins with it too, so the server processes it once.
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


async def _read_closely(model: Entailment, parts: Sequence[str], passage: Passage) -> float:
    """The score of a passage, where its likeliest sentence counts as much as the whole.

    In a passage about many things, such as a page of a manual, the relevant one is lost among the
    others: "A full battery lasts 14 hours at 4 °C, and 9 hours at -10 °C" answers a question about
    the cold with 0.54, the page that contains it with 0.16.
    """
    by_part = await score_answers(CloseReader(model), parts, [passage.premise])
    return max(score for [score] in by_part)


async def _answer_together(
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


def _rank(by_part: Sequence[Sequence[float]]) -> list[int]:
    """The places of passages, best first, by their order and their scores for each part.

    The rankings are fused by reciprocal rank (Cormack et al. 2009), with a small constant, since
    there are few passages and the rankings are best at their top.
    """
    rankings = [range(len(by_part[0])), *map(_order, by_part)]
    fused = dict.fromkeys(rankings[0], 0.0)
    for ranking in rankings:
        for rank, place in enumerate(ranking):
            fused[place] += 1 / (_SMOOTHING + rank)
    return _order(list(fused.values()))


def _order(scores: Sequence[float]) -> list[int]:
    """The places of scores, highest first."""
    return sorted(range(len(scores)), key=lambda place: -scores[place])
