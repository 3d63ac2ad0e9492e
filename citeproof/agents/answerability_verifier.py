"""Checks whether the passages answer the question at all, before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from citeproof.agents.base import LLMNode, SearchNode
from citeproof.errors import ModelReplyError, VerifierOutageError
from citeproof.prompts import fill
from citeproof.runtime.events import PassagesRetrieved, emit
from citeproof.runtime.meter import note
from citeproof.state import MemoryState, SourceState, Update, append_new, memory_passages
from citeproof.tools.citations.lists import other_parts
from citeproof.tools.citations.marks import strip_marks
from citeproof.tools.entailment import Entailment, halfway
from citeproof.tools.entailment.base import blend_odds
from citeproof.tools.entailment.known_names import missing_names
from citeproof.tools.questions.answering_passages import (
    answer_together,
    drop_unlikely,
    fuse_ranks,
    order,
    pick_likely,
    rank_passages,
    read_closely,
    score_passages,
)
from citeproof.tools.questions.definitions import find_defined_term
from citeproof.tools.questions.parts import asks_yes_or_no, question_parts
from citeproof.tools.questions.sources import select_source
from citeproof.tools.retrieval.base import Retriever
from citeproof.types import Passage

__all__ = ["AnswerabilityVerifier"]

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
_DEEP = 50
"""Number of found passages that the second look scores. In everyday words, a question shares few
with its answer: of 104 such questions, the five best have the evidence for 47 by the search alone,
for 68 by the scores of the first 20 passages, and for 74 by those of 50."""
_READ_AGAIN = 10
"""Number of passages that the second look compares; the judge is asked about the first few."""
_JUDGED = 3
_LIKELY, _SURE = 0.75, 0.9
"""From the first probability of the judge on, the writer tries after a second look; from the second
on, the answer does not say that it is not sure. Of 48 passages, the embedded judge was that sure of
none (benchmarks/results/everyday_words.md)."""
_GUESS_TOKENS = 64
UNSURE = "It is not sure that the passages answer the question."


class AnswerabilityState(MemoryState, SourceState):
    """The keys that the verifier reads."""


@dataclass(frozen=True)
class AnswerabilityVerifier(SearchNode, LLMNode):
    """Decides whether passages answer the question, and puts the best ones first in the memory.

    Without a retriever, it reads only the memory. If the score of the best passage leaves the
    decision in doubt, it also asks the language model, if there is one. If no passage answers,
    or only the language model says that one does, it looks again: it reads more of what the search
    finds. If none of that surely answers, it searches for an answer that the language model
    guesses, and asks that model about the best passages.
    """

    answerability: Entailment | None = None
    """Scores whether a passage answers the question; without it, every memory counts as
    answering."""
    candidates: int = 20
    """Number of passages to find and score; the best become the memory."""
    check_answer: bool = True
    look_again: bool = True
    """Whether to look again if none answers."""

    async def __call__(self, state: AnswerabilityState) -> Update:
        """Choose the memory from the candidates, and decide whether it may answer the question.

        If some surely answer, only those that may answer stay, and those that they name.
        The rest of a list in the memory is kept beside it, for a quote of the whole list.

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
        question, found = state["question"], list[Passage]()
        parts = question_parts(question)
        source = select_source(state, self.retriever)
        if source is not None:
            found = await self._find(source, question)
        read = append_new(memory, found)
        by_part = await score_passages(model, parts, read)
        ranking = rank_passages(by_part)
        best = [read[place] for place in ranking]
        scores = list(map(max, zip(*by_part, strict=True)))
        judge = _Judge(self, question)
        look = await _look(parts, read, scores, len(memory), model, judge)
        if self.look_again and (not look.answers or (look.by_judge and source is not None)):
            guessed = list[Passage]()
            if source is not None:
                [deep] = await self.search(source, [question], _DEEP)
                more = append_new(read, deep)[len(read) :]
                scores += map(max, zip(*await score_passages(model, parts, more), strict=True))
                read = [*read, *more]
                is_sure = max(scores) >= halfway(model.threshold)
                if guess := "" if is_sure else await self._guess(question):
                    [guessed] = await self.search(source, [guess], self.candidates)
            again = _fuse(read, guessed, pick_likely(read, scores))[:_READ_AGAIN]
            again, second = await _look_again(parts, again, model, judge)
            if not look.answers or (second.answers and not second.doubt):
                look = second
            best = append_new(again, best)[: len(memory)]
        else:
            best, first = best[: len(memory)], ranking[: len(memory)]
            of_best = [[row[place] for place in first] for row in by_part]
            best = drop_unlikely(best, of_best, halfway(model.threshold))
        kept = [*best, *other_parts(best, read)]
        if fresh := tuple(passage for passage in kept if passage not in memory):
            emit(PassagesRetrieved(passages=fresh))
        return {
            "answerable": look.answers,
            "doubt": look.doubt,
            "passages": append_new(kept, list(state["passages"])),
            "long_term": [passage.id for passage in best],
        }

    async def _find(self, source: Retriever, question: str) -> list[Passage]:
        """The candidates for a question; a question what something is, is asked in two ways.

        "What is a correspondent?" finds letters to correspondents first.
        """
        term = find_defined_term(question)
        queries = [question, f"definition of {term}"] if term else [question]
        return _fuse(*await self.search(source, queries, self.candidates))[: self.candidates]

    async def _guess(self, question: str) -> str:
        """A guessed answer to search for (HyDE, Gao et al. 2023); empty without a model.

        Passages are closer to an answer than to its question.
        """
        if self.llm.absent:
            return ""
        task = fill(self.template("answerability_verifier_guess"), question=question)
        reply = await self.llm.text(
            self.compose_prompt(question, {}, task), max_tokens=_GUESS_TOKENS
        )
        return " ".join(strip_marks(reply).split())

    async def judge(self, question: str, passage: Passage) -> float | None:
        """The language model's probability that a passage answers; None if it gives none.

        It is not asked if the passage lacks a name of the question: a small model takes a passage
        about Obsidian Sync for an answer to "What is SyncPlay?". Of 113 answerable questions of
        SQuAD 2.0 whose passage lacks one of their names, 83 score over the threshold without it,
        and of 130 unanswerable ones two.

        The writer's prompt mostly begins with it too, so the server processes it once.
        """
        if self.llm.absent or missing_names(passage.premise, question):
            return None
        task = fill(self.template(), question=question)
        prompt = self.compose_prompt(question, {1: passage}, task)
        try:
            return (await self.llm.choose(prompt, ("Yes", "No")))["Yes"]
        except ModelReplyError as error:
            note(f"answerability_verifier: the passages were not judged ({error.what})")
            return None


@dataclass
class _Judge:
    """The language model's probabilities that passages answer; asks about each only once."""

    verifier: AnswerabilityVerifier
    question: str
    asked: dict[str, float | None] = field(default_factory=dict)

    async def __call__(self, passage: Passage) -> float | None:
        if passage.id not in self.asked:
            self.asked[passage.id] = await self.verifier.judge(self.question, passage)
        return self.asked[passage.id]


class _Look(NamedTuple):
    """What a look at the passages found."""

    answers: bool
    doubt: str = ""
    by_judge: bool = False
    """Whether only the language model says that they answer."""


async def _look(
    parts: Sequence[str],
    read: Sequence[Passage],
    scores: Sequence[float],
    remembered: int,
    model: Entailment,
    judge: _Judge,
) -> _Look:
    """Whether the passages answer; the first `remembered` are the memory.

    The embedded judge finds no answer to a yes/no question unless a passage says "yes".
    """
    limit, likeliest = model.threshold, order(scores)[0]
    close = await read_closely(model, parts, read[likeliest])
    scores = [*scores[:likeliest], close, *scores[likeliest + 1 :]]
    likeliest = order(scores)[0]
    for_judge = len(parts) == 1 and not asks_yes_or_no(judge.question)
    doubtful = for_judge and _DOUBT[0] <= max(scores) <= _DOUBT[1]
    if doubtful and (judged := await judge(read[likeliest])) is not None:
        score = blend_odds((max(scores), judged), _BLEND)
        answerable = score >= _TRIED * limit
        doubt = UNSURE if answerable and score < limit else ""
        return _Look(answerable, doubt, answerable and max(scores) < limit)
    return _Look(
        max(scores[:remembered]) >= limit
        or max(scores) >= halfway(limit)
        or await answer_together(model, parts, [read[n] for n in order(scores)[:3]])
    )


async def _look_again(
    parts: Sequence[str], read: list[Passage], model: Entailment, judge: _Judge
) -> tuple[list[Passage], _Look]:
    """The passages, likeliest first, and whether one surely answers, or may.

    What the model or the judge alone takes for an answer leaves doubt.
    """
    by_part = await score_passages(model, parts, read)
    ranked = [read[place] for place in rank_passages(by_part)]
    if max(map(max, by_part)) >= halfway(model.threshold):
        return ranked, _Look(True)
    for passage in ranked[:_JUDGED]:
        if (judged := await judge(passage) or 0.0) >= _LIKELY:
            likeliest = sorted(ranked, key=lambda one: one is not passage)
            return likeliest, _Look(True, "" if judged >= _SURE else UNSURE, by_judge=True)
    score = await read_closely(model, parts, ranked[0])
    may, said = score >= model.threshold, judge.asked.get(ranked[0].id)
    if may and said is not None and not asks_yes_or_no(judge.question):
        may = blend_odds((score, said), _BLEND) >= _TRIED * model.threshold
    return ranked, _Look(may, UNSURE if may else "")


def _fuse(*rankings: Sequence[Passage]) -> list[Passage]:
    by_id = {passage.id: passage for passages in rankings for passage in passages}
    return [by_id[one] for one in fuse_ranks([[p.id for p in passages] for passages in rankings])]
