"""Answers with a list of the passages, if one is what the question asks for."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.agents.quote_verifier import IDENTICAL
from citeproof.errors import VerifierOutageError
from citeproof.runtime.events import ClaimAccepted, ClaimDrafted, ClaimVerified, emit
from citeproof.runtime.meter import note
from citeproof.state import Update, WritingState, memory_passages
from citeproof.tools.citations.lists import ItemList, lists_in
from citeproof.tools.citations.marks import content
from citeproof.tools.entailment import Entailment, halfway
from citeproof.tools.questions.answering import score_answers
from citeproof.tools.questions.parts import question_parts
from citeproof.tools.questions.wording import asks_for_several

__all__ = ["ListQuoter"]

_MOST = 15
"""Most items of a list that is an answer."""
_ASKER = content("can could do follow I me my need one our should use you your")
"""Words of a question that name nothing."""


@dataclass(frozen=True)
class ListQuoter(Node):
    """Quotes the steps, options or other items that a question asks for.

    A small writer reports one item of a list, or mixes two lists. The list is complete, true to its
    passage, and takes no call of a language model.
    """

    answerability: Entailment | None = None
    """Decides whether a list answers the question; without it, nothing is quoted."""

    async def __call__(self, state: WritingState) -> Update:
        """Set `claims` to the list that answers, with its introduction first; else do nothing.

        Only a question that asks for several things, or how to do something, is answered this way.
        A list whose heading or introduction has no word of the question must surely answer.
        """
        question = state["question"]
        asks_one = asks_for_several(question) and len(question_parts(question)) == 1
        if self.answerability is None or not asks_one:
            return {}
        memory = memory_passages(state)
        found = ((number, one) for number, passage in memory.items() for one in lists_in(passage))
        lists = [(number, one) for number, one in found if _is_readable(one)]
        if not lists:
            return {}
        try:
            [scores] = await score_answers(
                self.answerability, [question], [one.premise for _, one in lists]
            )
        except VerifierOutageError as error:
            note(f"whether a list answers the question was not checked: {error}")
            return {}
        limit = self.answerability.threshold
        answering = [
            (is_named, score, number, one)
            for (number, one), score in zip(lists, scores, strict=True)
            if score >= (limit if (is_named := _is_named(one, question)) else halfway(limit))
        ]
        if not answering:
            return {}
        *_, number, best = max(answering, key=lambda one: one[:2])
        claims = [quote.claim(number, IDENTICAL) for quote in best.quotes]
        for claim in claims:
            emit(ClaimDrafted(text=claim.text, trial=1))
            emit(ClaimVerified(text=claim.text, verdict=claim.verdict))
            emit(ClaimAccepted(claim=claim))
        return {"claims": claims}


def _is_named(one: ItemList, question: str) -> bool:
    """Whether heading or lead share a word with the question, apart from the document's title."""
    document = one.passage.title.partition(" – ")[0]
    return bool((content(question) & content(one.name)) - content(document) - _ASKER)


def _is_readable(one: ItemList) -> bool:
    return len(one.items) <= _MOST and all(quote.is_readable for quote in one.quotes)
