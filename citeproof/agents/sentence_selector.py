"""Quotes the sentences of the passages that answer the question, without writing any text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.runtime.events import ClaimDrafted, emit
from citeproof.state import MemoryState, Update, memory_passages
from citeproof.tools.citations.answer_text import UNCHECKED
from citeproof.tools.citations.marks import content
from citeproof.tools.citations.quotes import Quote, quotes_in
from citeproof.tools.entailment import Entailment
from citeproof.tools.questions.answering import score_answers
from citeproof.tools.questions.parts import question_parts
from citeproof.types import Passage, Verdict

__all__ = ["SentenceSelector"]

_SHARED = 0.5
"""Least share of the question's content words in a sentence, if no model judges it."""
_NEW = 0.5
"""Least share of a further quote's content words that are in no earlier quote."""


@dataclass(frozen=True)
class SentenceSelector(Node):
    """Takes the best sentences of the passages that answer best."""

    answerability: Entailment | None = None
    """Scores whether a text answers the question; without it, the question's words in the text
    count."""
    quotes: int = 2
    """Maximum number of quotes in an answer; a question with several parts may have one for each
    part."""
    read: int = 3
    """Number of passages whose sentences are considered: those that answer best."""
    context: bool = True
    """Whether a sentence that refers to the previous one is quoted together with it."""
    check_answer: bool = True

    async def __call__(self, state: MemoryState) -> Update:
        """Set `claims` to excerpts of passages, which `quote_verifier` proves.

        The best quote for each part of the question comes first, each grouped with the quotes from
        the same passage in the passage's order. Further quotes must say something new. If no quote
        reaches the threshold, there is no claim.
        """
        question, numbered = state["question"], memory_passages(state)
        parts = question_parts(question)
        ranked = await self._best_passages(parts, numbered)
        quotes = [q for n in ranked for q in quotes_in(numbered[n], context=self.context)]
        scores = await self._scores(parts, [quote.premise for quote in quotes])
        chosen = self._choose(quotes, scores)
        numbers = {passage.id: number for number, passage in numbered.items()}
        verdict = Verdict(status="unchecked", reason=UNCHECKED)
        claims = [quote.claim(numbers[quote.passage.id], verdict) for quote in _in_order(chosen)]
        for claim in claims:
            emit(ClaimDrafted(text=claim.text, trial=1))
        return {"claims": claims}

    async def _best_passages(self, parts: Sequence[str], numbered: dict[int, Passage]) -> list[int]:
        """Numbers of the passages to read, best first by their best score for any part."""
        numbers = list(numbered)
        scores = await self._scores(parts, [numbered[number].premise for number in numbers])
        best = {number: max(some) for number, *some in zip(numbers, *scores, strict=True)}
        return sorted(numbers, key=lambda number: -best[number])[: max(self.read, len(parts))]

    async def _scores(self, parts: Sequence[str], texts: Sequence[str]) -> list[list[float]]:
        """For each part of the question, the score of each text, 0 to 1."""
        if self.answerability is not None:
            return await score_answers(self.answerability, parts, texts)
        asked, said = [content(part) for part in parts], [content(text) for text in texts]
        return [[len(words & text) / max(1, len(words)) for text in said] for words in asked]

    def _choose(self, quotes: Sequence[Quote], scores: Sequence[Sequence[float]]) -> list[Quote]:
        """The quotes of the answer, best first."""
        if not quotes:
            return []
        least = self.answerability.threshold if self.answerability is not None else _SHARED
        least = least if self.check_answer else 0.0
        places, overall = range(len(quotes)), list(map(max, zip(*scores, strict=True)))
        best = (max(places, key=some.__getitem__) for some in scores)
        answers = [n for n, some in zip(best, scores, strict=True) if some[n] >= least]
        chosen = [quotes[n] for n in dict.fromkeys(answers)]
        for place in sorted(places, key=lambda n: -overall[n]):
            if not chosen or len(chosen) >= self.quotes or overall[place] < least:
                break
            if _is_new(quotes[place], chosen):
                chosen.append(quotes[place])
        return chosen


def _is_new(quote: Quote, chosen: Sequence[Quote]) -> bool:
    """Whether a quote says something that earlier ones do not."""
    known = {word for other in chosen for word in content(other.text)}
    own = content(quote.text)
    return len(own - known) >= _NEW * len(own) > 0


def _in_order(chosen: Sequence[Quote]) -> list[Quote]:
    """The quotes grouped by passage, in its order; quotes that touch or overlap become one."""
    ordered: list[Quote] = []
    ids = list(dict.fromkeys(quote.passage.id for quote in chosen))
    for quote in sorted(chosen, key=lambda q: (ids.index(q.passage.id), q.start)):
        if ordered and _touch(ordered[-1], quote):
            last = ordered.pop()
            quote = last._replace(end=max(last.end, quote.end))
        ordered.append(quote)
    return ordered


def _touch(one: Quote, other: Quote) -> bool:
    same = one.passage.id == other.passage.id
    return same and not one.passage.text[one.end : other.start].strip()
