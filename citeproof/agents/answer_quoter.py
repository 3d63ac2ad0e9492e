"""Answers with a list or a sentence of the passages, if one surely answers the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.agents.quoter import IDENTICAL
from citeproof.errors import VerifierOutageError
from citeproof.runtime.events import ClaimAccepted, ClaimDrafted, ClaimVerified, emit
from citeproof.runtime.meter import note
from citeproof.state import Update, WritingState, memory_passages
from citeproof.tools.citations.answer_text import AnyForm
from citeproof.tools.citations.lists import ItemList, lists_in, whole_lists
from citeproof.tools.citations.marks import content
from citeproof.tools.citations.quotes import Quote, quotes_in
from citeproof.tools.entailment import Entailment, halfway
from citeproof.tools.questions.answering import score_answers
from citeproof.tools.questions.answering_passages import score_passages
from citeproof.tools.questions.kinds import lacks_asked_kind, lacks_person
from citeproof.tools.questions.parts import question_parts
from citeproof.tools.questions.quote_choice import (
    AS_SURE,
    are_rivals,
    choose_quote,
    document_title,
)
from citeproof.tools.questions.wording import (
    asks_for_several,
    asks_how,
    asks_to_compare,
    asks_why,
    tells_how,
)
from citeproof.types import Passage

__all__ = ["AnswerQuoter"]

_MOST = 15
"""Most items of a list that is an answer."""
_LIKELY = 0.75
"""Share of the threshold that is enough for a sentence if the writer found nothing to write. In
some 500 runs it was silent on three questions that the passages answer, and the likeliest sentence
is right for each (0.48 to 0.85); on none of 48 questions without an answer."""
_ASKER = content("can could do follow I me my need one our should use you your")
"""Words of a question that name nothing."""


@dataclass(frozen=True)
class AnswerQuoter(Node):
    """Quotes the sentence that surely answers a question, or the whole list that it asks for.

    Quotes are true to their passage and take no call of a language model. A small writer takes
    several times as long, and reports one item of a list, or mixes two lists.
    """

    answerability: Entailment | None = None
    """Scores whether a text answers the question; without it, nothing is quoted."""
    quote_lists: bool = True
    """Whether to answer a question for several things, or how to do something, with a list."""
    quote_above: float = 0.85
    """Least score of a sentence that is an answer; 1 quotes no sentences."""
    form: AnyForm = "prose"
    """A `list` needs all answers, and a sentence may have only one, so none is quoted for it."""
    after_writing: bool = False
    """True quotes the likeliest sentence, for a writer that found nothing to write."""

    async def __call__(self, state: WritingState) -> Update:
        """Set `claims` to the quotes that answer; do nothing if there are none.

        "Why" needs a writer: reasons take several sentences, and a sentence that repeats what
        happened seems to answer ("The certificate expired": 0.93). So does a question how two
        things differ, of which a sentence mostly describes one. After writing, there is no other
        answer left.
        """
        question, memory = state["question"], memory_passages(state)
        if self.answerability is None:
            return {}
        may_list = not self.after_writing and asks_for_several(question)
        if not self.after_writing and (asks_why(question) or asks_to_compare(question)):
            return {}
        try:
            if may_list:
                found = dict(enumerate(state["passages"], start=1))
                quoted = await self._quote_list(self.answerability, question, memory, found)
            else:
                quoted = await self._quote_sentence(self.answerability, question, memory)
        except VerifierOutageError as error:
            note(f"no answer was quoted: {error}")
            return {}
        claims = [quote.claim(number, IDENTICAL) for number, quote in quoted]
        for claim in claims:
            emit(ClaimDrafted(text=claim.text, trial=1))
            emit(ClaimVerified(text=claim.text, verdict=claim.verdict))
            emit(ClaimAccepted(claim=claim))
        return {"claims": claims} if claims else {}

    async def _quote_list(
        self,
        answerability: Entailment,
        question: str,
        memory: Mapping[int, Passage],
        found: Mapping[int, Passage],
    ) -> Sequence[tuple[int, Quote]]:
        """The list that answers, with its introduction first.

        Without such a list, a sentence may have all that is asked for: of 58 questions for several
        things of NQ, SQuAD and ASQA that a sentence of the gold passage surely answers, it has an
        answer for 53, and all of them for 49. Not so if the question asks how, which takes steps,
        or if a list may answer.

        The list is in the memory, but the rest of one that was cut may be among all that was found.
        A list whose heading or introduction has no word of the question must surely answer, as must
        bullets without an introduction, which are often facts of many kinds. So one of them that
        answers alone is the answer, and two must answer for the list to be one. Steps stay together
        even if one of them seems to answer.
        """
        may_list = self.quote_lists and len(question_parts(question)) == 1
        lists = [
            one
            for one in (whole_lists(found.values()) if may_list else ())
            if len(one.items) <= _MOST and all(quote.is_readable for quote in one.quotes)
            if any(quote.passage in memory.values() for quote in one.quotes)
        ]
        [scores] = await score_answers(answerability, [question], [one.premise for one in lists])
        limit = answerability.threshold
        answering: list[tuple[bool, float, ItemList]] = []
        for one, score in zip(lists, scores, strict=True):
            is_introduced = _is_introduced(one, question, score >= self.quote_above)
            if score >= (limit if is_introduced else halfway(limit)):
                answering.append((is_introduced, score, one))
        if not answering:
            if asks_how(question) or max(scores, default=0.0) >= limit:
                return ()
            every = [item for own in memory.values() for one in lists_in(own) for item in one.items]
            return await self._quote_sentence(answerability, question, memory, but=every)
        is_introduced, _, best = max(answering, key=lambda one: one[:2])
        if not (is_introduced and _are_steps(best, question)):
            items = [item.premise for item in best.headed_items]
            [alone] = await score_answers(answerability, [question], items)
            answers = [score for score in alone if score >= limit]
            if len(answers) == 1 and answers[0] >= self.quote_above:
                return await self._quote_sentence(answerability, question, memory)
            if not is_introduced and len(answers) < 2:
                return ()
        numbers = {passage.id: number for number, passage in found.items()}
        return [(numbers[quote.passage.id], quote) for quote in best.quotes]

    async def _quote_sentence(
        self,
        answerability: Entailment,
        question: str,
        memory: Mapping[int, Passage],
        but: Sequence[Quote] = (),
    ) -> Sequence[tuple[int, Quote]]:
        """The sentence that answers every part of the question best, if one surely does; not `but`.

        Of those that answer as surely as the best, it is one that needs no context, in the passage
        that was found first. It must make sense alone: the answer may stand in the heading that
        "This list" refers to. After writing, it need be neither. If a sentence of another document
        may answer too, and says something else, the writer has to weigh them. A quote with its
        context gives way to the part that surely answers alone.

        Its passage as a whole must answer too: alone, a sentence may seem to speak of what is
        asked. Of 290 questions that no model has learned from, 226 have an answer: the surest
        sentence of the memory is one of the evidence for 70 instead of 73, and another one for 23
        instead of 29. Of the 64 without an answer, 7 instead of 9 have such a sentence.
        """
        if self.quote_above >= 1 or self.form == "list":
            return ()
        parts = question_parts(question)
        passages = list(memory.items())
        if not self.after_writing:
            by_part = await score_passages(answerability, parts, [own for _, own in passages])
            least = map(min, zip(*by_part, strict=True))
            limit = answerability.threshold
            passages = [own for own, score in zip(passages, least, strict=True) if score >= limit]
        found = [
            (number, quote)
            for number, passage in passages
            for quote in quotes_in(passage)
            if quote.is_statement
            and not any(quote.is_in(one) for one in but)
            and not any(
                lacks_asked_kind(quote.text, part) or lacks_person(quote.text, part)
                for part in parts
            )
        ]
        if not found:
            return ()
        texts = [quote.premise for _, quote in found]
        by_part = await score_answers(answerability, parts, texts)
        scores = list(map(min, zip(*by_part, strict=True)))
        scored = list(zip(scores, found, strict=True))
        enough = _LIKELY * answerability.threshold if self.after_writing else self.quote_above
        sure = [one for one in scored if one[0] >= enough]
        as_sure = [one for one in sure if one[0] >= max(scores) - AS_SURE]
        fit = [one for one in as_sure if self.after_writing or one[1][1].stands_alone]
        if not fit:
            return ()
        best = await choose_quote(answerability, question, parts, [found for _, found in fit])
        if best is None:
            return ()
        likely = [q for score, (_, q) in scored if score >= halfway(answerability.threshold)]
        if any(are_rivals(one, best, question) for one in likely):
            return ()
        within = [found for _, found in sure if found[1].is_in(best)]
        return [min(within, key=lambda one: len(one[1].text))]


def _are_steps(one: ItemList, question: str) -> bool:
    """Whether the items belong together: they are numbered, or "To …:" introduces them."""
    return one.is_numbered or bool(one.lead and tells_how(one.lead.text, question))


def _is_introduced(one: ItemList, question: str, answers: bool) -> bool:
    """Whether a list is introduced with a word of the question, in its heading or lead.

    Bullets need a lead. Words of the document's title count only in the lead of a list that surely
    `answers`: "Things to back up:" in "Backups".
    """
    if not one.lead and not one.is_numbered:
        return False
    asked = content(question) - _ASKER
    if answers and one.lead and asked & content(one.lead.text):
        return True
    return bool(asked & content(one.name) - content(document_title(one.passage)))
