"""Quotes the passage if the proof of a claim is in doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.agents.quote_verifier import IDENTICAL
from citeproof.errors import VerifierOutageError
from citeproof.runtime.events import ClaimDrafted, ClaimVerified, emit
from citeproof.runtime.meter import note
from citeproof.state import Draft, DraftState, Update, memory_passages, number_passages
from citeproof.tools.citations.marks import adds_nothing, content, supporting_sentence
from citeproof.tools.citations.quotes import Quote, quotes_in
from citeproof.tools.entailment import Entailment, halfway
from citeproof.tools.entailment.details import missing_code, missing_details
from citeproof.tools.questions.answering import score_answers
from citeproof.tools.questions.kinds import lacks_asked_kind
from citeproof.tools.questions.parts import question_parts
from citeproof.tools.questions.wording import tells_how
from citeproof.tools.sentences import LIST_ITEM, ROW, split
from citeproof.types import Passage

__all__ = ["Quoter"]

QUOTED = "a quote, as the proof of the written claim was in doubt"
"""The reason of the verdict on a quote."""
_NEARLY = 0.5
"""A failed claim with at least this share of `quote_below` was nearly proved. Of seven such claims
on short documents and Wikipedia, a quote was right for six, and missed the question for one. Any
other failed claim gives way only to a sentence that is related to it and surely answers: "It is
open from 9 to noon on Saturdays" (0.36), to one that answers and has its names in code: "With
`--connect-timeout` you tell curl the maximum time" (0.61), or to the one row of a table that
answers: small writers take the price of another row."""
_AGREED = 0.6
"""If no other quote answers, a failed claim gives way to a sentence that has its numbers, apart
from those of the question, and answers with at least this share of the threshold: "The default port
is 4532 for rigctld and 4533 for rotctld" (0.37) for "The rotator daemon listens on port 4533". Of
23 failed claims on manuals and Wikipedia, four have such a sentence, and these four are right."""
_TELLS_HOW = 0.78
"""A proved claim that tells how ("To cancel an order, press F8") is in doubt only below this share
of `quote_below`. A quote lacks the goal, and quotes replaced `lm()` by `glm()`, and a command by a
heading. Of 28 such claims on manuals with a score from 0.7 on, 26 were right."""
_LEAST_SAID = 0.5
"""A claim sums up a list if the items together have at least this share of the words that claim and
passage have and the question has not, and each sentence has less. "WAL is faster, allows more
concurrency and needs fewer fsync operations" is such a claim; an item of the list is no
replacement. Outside of lists, a claim that mixes sentences is often false: it calls the rare side
effects common as well. For each of 17 claims on Wikipedia that were rightly replaced, a sentence
has 0.75 or more."""
_RATHER_SURE = 0.8
"""A claim with this score gives way only to a sentence that says about the same. "Use the SQLite
Online Backup API" (0.86) is right, and "Copy the database file" an answer too. But a claim on the
Netherlands (0.84) is in serious doubt if the sentence that comes nearest names only the UK."""
_SHORT = 3
"""Fewest content words of a failed claim that gives way to a quote. "Open HomeBank." has two, and
any sentence on opening something would do."""


@dataclass(frozen=True)
class Quoter(Node):
    """Replaces a claim that is nearly or not surely proved by a sentence of the cited passage.

    A quote is true to its passage, whatever the entailment model has overlooked.
    """

    answerability: Entailment | None = None
    """Decides which sentences answer the question; without it, any sentence may be quoted."""
    quote_below: float = 0.9
    """A claim is in doubt if it scores lower; a proved one that tells how, below 78% of this value.
    0 turns quoting off."""
    check_answer: bool = True
    """False allows quoting a sentence that does not answer the question."""

    async def __call__(self, state: DraftState) -> Update:
        """Replace a draft that is in doubt by a quote, if one answers the question.

        The draft stays unchanged if it cites several passages, or if the model that scores answers
        is unreachable.
        """
        draft = state["draft"]
        if draft is None or len(draft.cited) != 1 or not self._doubts(draft, state["question"]):
            return {}
        passage = _find_source(state, draft)
        try:
            quote = await self._choose(state, passage, draft)
        except VerifierOutageError as error:
            note(f"a claim in doubt was not replaced by a quote: {error}")
            return {}
        if quote is None:
            return {}
        trials = draft.verdict.trials if draft.verdict else 1
        verdict = IDENTICAL.model_copy(update={"trials": trials, "reason": QUOTED})
        if quote.text != draft.text:
            note(f"not surely proved, so replaced by a quote: {draft.text}")
            emit(ClaimDrafted(text=quote.text, trial=trials))
        emit(ClaimVerified(text=quote.text, verdict=verdict))
        said = {"text": quote.text, "cited": (passage.id,), "verdict": verdict}
        if draft.verdict and draft.verdict.failed:
            # What says otherwise speaks against the claim, and mostly is the quote.
            said["against"] = ()
        return {"draft": draft.model_copy(update=said)}

    def _doubts(self, draft: Draft, question: str) -> bool:
        verdict = draft.verdict
        if verdict is None or verdict.score is None:
            return False
        if verdict.status != "supported":
            return verdict.score < self.quote_below
        share = _TELLS_HOW if tells_how(draft.text, question) else 1.0
        return verdict.score < share * self.quote_below

    async def _choose(self, state: DraftState, passage: Passage, draft: Draft) -> Quote | None:
        """The quote that answers and comes closest to the claim; None if there is none.

        A quote is related to the claim if it has half of the claim's words that are not in the
        question; if there are none, if it is the nearest sentence. Other quotes must answer with a
        higher score, and replace only a claim in serious doubt. If there are none, a sentence with
        the numbers of a failed claim is a quote. Related quotes go first, then those with all names
        and numbers of the claim, then the nearest. A claim that sums up a list has no quote.
        """
        claim, question = draft.text, state["question"]
        accepted = [other.text for other in state["claims"]]
        proof = (draft.verdict.score if draft.verdict else None) or 0.0
        is_failed = draft.verdict is not None and draft.verdict.failed
        is_far = is_failed and proof < _NEARLY * self.quote_below
        nearest = " ".join(supporting_sentence(passage, claim).split())
        is_sure = proof >= _RATHER_SURE and not missing_details(
            f"{question}\n{passage.title}\n{nearest}", claim
        )
        added = content(claim) - content(f"{question} {passage.title} use")
        limit = self.answerability.threshold if self.answerability else 0.0
        judge = self.answerability if self.check_answer else None
        names_code = bool(missing_code("", claim))
        numbers = {one for one in missing_details(question, claim) if any(map(str.isdigit, one))}

        def is_nearest(quote: Quote) -> bool:
            return bool(nearest) and quote.text.endswith(nearest)

        def is_related(quote: Quote) -> bool:
            if not added:
                return is_nearest(quote)
            return len(added & content(quote.text)) >= _LEAST_SAID * len(added)

        def has_numbers(quote: Quote) -> bool:
            return bool(numbers) and not numbers & set(missing_details(quote.text, claim))

        def answers(quote: Quote, score: float) -> bool:
            if is_failed and judge is not None and ROW.match(quote.text):
                return score >= limit
            if is_far and names_code and quote.is_statement:
                return score >= limit
            if is_far:
                return is_related(quote) and score >= halfway(limit)
            return score >= limit if is_related(quote) else not is_sure and score >= halfway(limit)

        def rank(scored: tuple[Quote, float]) -> tuple[bool, bool, bool, float]:
            quote, score = scored
            has_all = not missing_details(f"{question}\n{quote.premise}", claim)
            return is_related(quote), has_all, is_nearest(quote), score

        if _sums_up(added, passage) or (is_failed and len(content(claim)) < _SHORT):
            return None
        quotes = list(_useful(passage, claim, accepted, is_failed))
        if judge is None:
            scored = [(quote, limit) for quote in quotes]
        else:
            quotes = [one for one in quotes if not lacks_asked_kind(one.text, question)]
            texts = [quote.premise for quote in quotes]
            rows = await score_answers(judge, question_parts(question), texts)
            scored = [(quote, max(some)) for quote, *some in zip(quotes, *rows, strict=True)]
        answering = [one for one in scored if answers(*one)] or [
            (quote, score)
            for quote, score in scored
            if is_failed and score >= _AGREED * limit and has_numbers(quote)
        ]
        return max(answering, key=rank)[0] if answering else None


def _find_source(state: DraftState, draft: Draft) -> Passage:
    """The cited passage, or one of the memory that has the claim's names in code if it lacks any.

    The claim named `CURLOPT_PIPEWAIT`, and cited a passage with another option.
    """
    [cited] = number_passages(state, draft.cited).values()
    if not missing_code(cited.premise, draft.text):
        return cited
    memory = memory_passages(state).values()
    return next((one for one in memory if not missing_code(one.premise, draft.text)), cited)


def _sums_up(added: Set[str], passage: Passage) -> bool:
    """Whether a claim's own words come from several items of a list."""
    text = passage.text
    said, spans = added & content(text), split(text)
    parts = [said & content(text[span.start : span.end]) for span in spans]
    items = [p for span, p in zip(spans, parts, strict=True) if LIST_ITEM.match(text, span.start)]
    least = _LEAST_SAID * len(said)
    return max(map(len, parts), default=0) < least <= len(set().union(*items))


def _useful(
    passage: Passage, claim: str, accepted: Sequence[str], is_failed: bool
) -> Iterator[Quote]:
    """The quotes that may replace a claim, without leading sentences that the answer has already.

    They contain the commands and similar code of the claim, and do not repeat the answer so far. A
    proved claim gives way only to a whole sentence that can be understood alone: "This list only
    gets news" does not name the list.
    """
    alone = quotes_in(passage, context=False)
    for whole, sentence in zip(quotes_in(passage), alone, strict=True):
        lead = whole._replace(end=sentence.start).text
        quote = sentence if lead and adds_nothing(lead, accepted) else whole
        if (
            quote.says_something
            and (is_failed or (quote.is_statement and whole.stands_alone))
            and not missing_code(quote.text, claim)
            and not adds_nothing(quote.text, accepted)
        ):
            yield quote
