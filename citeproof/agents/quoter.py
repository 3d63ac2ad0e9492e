"""Quotes the passages instead of the written claim, and checks the quotes of a model.

`Quoter` quotes a passage if the proof of a claim is in doubt. `QuoteVerifier` checks whether quotes
are words of the passages: a proof by identity, without a model.
"""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.errors import VerifierOutageError
from citeproof.runtime.events import ClaimDrafted, ClaimRejected, ClaimVerified, emit
from citeproof.runtime.meter import note
from citeproof.state import Draft, DraftState, NodeState, Update, memory_passages, number_passages
from citeproof.tools.citations.marks import content, supporting_sentence
from citeproof.tools.citations.quotes import Quote, find_quote
from citeproof.tools.entailment import Entailment
from citeproof.tools.entailment.code_names import missing_code
from citeproof.tools.questions.answering import score_answers
from citeproof.tools.questions.doubted_claim import DoubtedClaim
from citeproof.tools.questions.kinds import lacks_asked_kind
from citeproof.tools.questions.parts import question_parts
from citeproof.tools.questions.wording import tells_how
from citeproof.types import Claim, Passage, Verdict

__all__ = ["QuoteVerifier", "Quoter"]

IDENTICAL = Verdict(status="supported", tier="cited", score=1.0)
"""The verdict on the words of a passage."""
QUOTED = "a quote, as the proof of the written claim was in doubt"
"""The reason of the verdict on a quote."""
_NEARLY = 0.5
"""A failed claim with at least this share of `quote_below` was nearly proved. Of seven such claims
on short documents and Wikipedia, a quote was right for six, and missed the question for one."""
_SHARED = 0.5
"""A sentence replaces a quote that no passage has if it shares more than this part of its words."""
_TELLS_HOW = 0.78
"""A proved claim that tells how ("To cancel an order, press F8") is in doubt only below this share
of `quote_below`. A quote lacks the goal, and quotes replaced `lm()` by `glm()`, and a command by a
heading. Of 28 such claims on manuals with a score from 0.7 on, 26 were right."""


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

        The draft stays unchanged if a person wrote it, if it cites no passage or several, or if the
        model that scores answers is unreachable.
        """
        draft = state["draft"]
        if draft is None or len(draft.cited) != 1 or not self._doubts(draft, state["question"]):
            return {}
        passage = _find_source(state, draft)
        if passage is None:
            return {}
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
        if draft.edited or verdict is None or verdict.score is None:
            return False
        if verdict.status != "supported":
            return verdict.score < self.quote_below
        share = _TELLS_HOW if tells_how(draft.text, question) else 1.0
        return verdict.score < share * self.quote_below

    async def _choose(self, state: DraftState, passage: Passage, draft: Draft) -> Quote | None:
        """The quote that answers and comes closest to the claim; None if there is none."""
        question = state["question"]
        score = (draft.verdict.score if draft.verdict else None) or 0.0
        failed = draft.verdict is not None and draft.verdict.failed
        far = failed and score < _NEARLY * self.quote_below
        doubted = DoubtedClaim(draft.text, question, passage, score, failed, far)
        if doubted.is_kept:
            return None
        quotes = list(doubted.quotes([other.text for other in state["claims"]]))
        judge = self.answerability if self.check_answer else None
        if judge is None:
            return doubted.choose([(quote, 0.0) for quote in quotes], 0.0)
        parts = question_parts(question)
        quotes = [q for q in quotes if any(_fits(q, part) for part in parts)]
        rows = await score_answers(judge, parts, [quote.premise for quote in quotes])
        scored = [
            (quote, max(s for part, s in zip(parts, by_part, strict=True) if _fits(quote, part)))
            for quote, *by_part in zip(quotes, *rows, strict=True)
        ]
        return doubted.choose(scored, judge.threshold)


def _fits(quote: Quote, part: str) -> bool:
    return not lacks_asked_kind(quote.text, part)


def _find_source(state: DraftState, draft: Draft) -> Passage | None:
    """The cited passage, or one of the memory that has the claim's names in code if it lacks any.

    The claim named `CURLOPT_PIPEWAIT`, and cited a passage with another option. None if the cited
    passage is unknown, as it may be in a claim of another graph.
    """
    cited = next(iter(number_passages(state, draft.cited).values()), None)
    if cited is None or not missing_code(cited.premise, draft.text):
        return cited
    memory = memory_passages(state).values()
    return next((one for one in memory if not missing_code(one.premise, draft.text)), cited)


class QuotesState(NodeState):
    """The keys that the verifier reads."""

    passages: list[Passage]
    claims: list[Claim]


@dataclass(frozen=True)
class QuoteVerifier(Node):
    """Keeps the quotes that a passage contains word for word, as whole sentences of the passage.

    A part of a sentence may say something else than the sentence.
    """

    nearest: bool = False
    """Whether to replace a quote that is not found by the sentence of the cited passage that shares
    most of its content words, since small models paraphrase when they should copy."""

    async def __call__(self, state: QuotesState) -> Update:
        """Set `claims` and `kept` to the quotes that were found.

        A quote found in a passage other than the cited one cites that passage instead.
        """
        found: list[Claim] = []
        for claim in state["claims"]:
            if verified := self._verify(claim, state["passages"]):
                if all(verified.text != other.text for other in found):
                    emit(ClaimVerified(text=verified.text, verdict=verified.verdict))
                    found.append(verified)
                continue
            emit(ClaimRejected(text=claim.text, reason="no passage has these words"))
            note(f"quote_verifier: no passage says {claim.text!r}")
        return {"claims": found, "kept": found}

    def _verify(self, claim: Claim, passages: list[Passage]) -> Claim | None:
        cited = {citation.passage_id for citation in claim.citations}
        numbered = sorted(enumerate(passages, start=1), key=lambda one: one[1].id not in cited)
        for number, passage in numbered:
            if quote := find_quote(claim.text, passage):
                return quote.claim(number, IDENTICAL)
        for number, passage in numbered[: len(cited)] if self.nearest else ():
            sentence = supporting_sentence(passage, claim.text)
            wanted = content(claim.text)
            enough = len(wanted & content(sentence)) > _SHARED * len(wanted)
            if enough and (quote := find_quote(sentence, passage)):
                return quote.claim(number, IDENTICAL)
        return None
