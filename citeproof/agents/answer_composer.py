"""Ends a run with an `Answer`: text, numbers in order of first use, status."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NotRequired

from citeproof.agents.answerability_verifier import UNSURE
from citeproof.agents.base import Node
from citeproof.agents.claim_acceptor import APPROVED
from citeproof.errors import ModelError, StoreError
from citeproof.memory.evidence import EvidenceLog
from citeproof.runtime.events import ClaimAccepted, ClaimRejected, emit
from citeproof.runtime.meter import note
from citeproof.runtime.place import current_place
from citeproof.state import Update, WritingState, memory_passages
from citeproof.text import count
from citeproof.tools.citations.answer_message import answer_message
from citeproof.tools.citations.answer_text import AnyForm, written_out
from citeproof.tools.citations.marks import CONTRADICTED, FLAG, cite, join_claims, marks
from citeproof.tools.entailment import Entailment
from citeproof.tools.entailment.disputes import find_disputes
from citeproof.tools.questions.answering import UNCHECKED, find_answered, quote_nearest
from citeproof.tools.questions.parts import question_parts
from citeproof.types import Answer, Citation, Claim, Passage, QuotedPassage

__all__ = ["AnswerComposer"]

Status = Literal["answered", "partial", "not_found"]
_NEAREST = 3
"""Number of passages to show if no answer was found."""


class EndState(WritingState):
    """The keys that the composer reads."""

    stop: str
    asked: NotRequired[str]
    """The question as asked, if it was rewritten."""
    answerable: NotRequired[bool | None]
    """Whether a passage answers the question; None if it was not checked."""
    doubt: NotRequired[str | None]
    """Why the answer as a whole is in doubt; None if it was not judged as a whole."""


@dataclass(frozen=True)
class AnswerComposer(Node):
    """Composes the answer from the claims, even if the run ended early."""

    method: str = "vtg"
    unverified: Literal["keep", "flag", "drop"] = "flag"
    """What to do with unsupported claims: keep them, flag them in the text, or leave them out.
    Claims that a person has approved stay."""
    form: AnyForm = "prose"
    announce: bool = True
    """Whether to emit the claims as accepted; False if a `ClaimAcceptor` has done so."""
    answer: bool = True
    """Whether an answer was requested."""
    doubt: str = ""
    """Why the answer is in doubt if no node has judged it as a whole."""
    agreement: bool = False
    """Whether the agreement of two models replaces a check, so that unchecked claims raise no doubt
    (CaLM)."""
    closed_book: bool = False
    """Whether the model had to answer without passages."""
    answerability: Entailment | None = None
    """Decides whether a claim answers the question; without it, every claim does."""
    check_answer: bool = True
    entailment: Entailment | None = None
    """Finds passages that say otherwise than proved claims; without it, none are looked for."""
    evidence: EvidenceLog | None = None
    """The log that records the cited passages; if it fails, the record is lost, not the answer.
    Drafts for another graph are not recorded."""

    async def __call__(self, state: EndState) -> Update:
        """Compose the answer; if no claim answers the question, it says so and why."""
        is_draft = current_place().drafts
        kept, dropped = self._split_claims(state)
        if not is_draft and not state["stop"]:
            kept = await self._find_disputes(state, kept)
        claims, passages = _renumber(kept, state["passages"])
        status, reason = self._status(state, claims, dropped)
        beside = await self._beside_the_question(state, claims, passages)
        if beside:
            told = [reason, beside[1]] if state["stop"] else [beside[1], reason]
            status, reason = beside[0], " ".join(filter(None, told))
        nearest: tuple[QuotedPassage, ...] = ()
        if status == "not_found" and not passages:
            nearest = await self._quote_nearest(state, is_draft)
        if not is_draft:
            await self._record(state["question"], claims, passages)
        asked = state.get("asked") or ""
        answer = Answer(
            question=state["question"],
            asked="" if asked == state["question"] else asked,
            method=self.method,
            status=status,
            reason=reason,
            text=self._text(claims),
            claims=tuple(claims),
            passages=tuple(passages),
            nearest=nearest,
        )
        if is_draft or not self.answer:  # a draft is no message of the conversation
            return {"answer": answer}
        return {"answer": answer, "messages": [answer_message(answer)]}

    def _split_claims(self, state: EndState) -> tuple[list[Claim], list[str]]:
        """The claims to keep, and the texts of the claims to drop."""
        kept, dropped = [], list(state["dropped"])
        for claim in state["claims"]:
            decided = claim.verdict.reason == APPROVED
            if self.unverified != "drop" or not claim.verdict.failed or decided:
                kept.append(claim)
                if self.announce:
                    emit(ClaimAccepted(claim=claim))
            else:
                dropped.append(claim.text)
                emit(ClaimRejected(text=claim.text, reason="dropped: it could not be verified"))
        return kept, dropped

    async def _find_disputes(self, state: EndState, claims: list[Claim]) -> list[Claim]:
        """The claims, each proved one with the passages of the memory that say otherwise."""
        asks = self.check_answer and self.answer and self.form == "prose"
        if self.entailment is None or not asks:
            return claims
        memory = memory_passages(state)
        others = []
        for claim in claims:
            known = {citation.passage_id for citation in (*claim.citations, *claim.against)}
            unread = {n: one for n, one in memory.items() if one.id not in known}
            others.append((claim.text, unread if claim.verdict.status == "supported" else {}))
        try:
            found = await find_disputes(self.entailment, state["question"], others)
        except UNCHECKED as error:
            note(f"whether passages say otherwise was not checked: {error}")
            return claims
        return [
            claim.model_copy(update={"against": (*claim.against, *cite(disputing, claim.text))})
            for claim, disputing in zip(claims, found, strict=True)
        ]

    async def _beside_the_question(
        self, state: EndState, claims: list[Claim], passages: list[Passage]
    ) -> tuple[Status, str] | None:
        """Status and reason if proved claims do not answer every part of the question, else None.

        Only prose is checked, since names and lists state nothing by themselves. Where the judge
        overruled the model on the passages, the model does not overrule it on the claims.
        """
        asks = self.check_answer and self.answer and self.form == "prose" and not self.closed_book
        if self.answerability is None or not asks or not claims:
            return None
        by_id, parts = {one.id: one for one in passages}, question_parts(state["question"])
        try:
            answered = await find_answered(self.answerability, parts, claims, by_id)
        except UNCHECKED as error:
            note(f"whether the claims answer the question was not checked: {error}")
            return None
        if all(answered.proved):
            return None
        told = list(zip(parts, answered.proved, answered.failed, strict=True))
        unproved = any(failed and not proved for _, proved, failed in told)
        if not unproved and not any(answered.proved):
            is_unsure = state.get("doubt") == UNSURE
            if any(answered.likely):
                doubt = "" if is_unsure else "It is not sure that this answers the question."
                return "partial", doubt
            if is_unsure and not all(claim.verdict.failed for claim in claims):
                return "partial", ""
            proved = all(claim.verdict.status == "supported" for claim in claims)
            said = "; this is what the passages say" if proved else ""
            return "not_found", f"No claim answers the question{said}."
        reasons = []
        if unproved and len(claims) > 1:  # of a single claim, the other reason says it
            reasons.append("The claim that answers the question could not be proved.")
        if missing := " ".join(part for part, proved, failed in told if not (proved or failed)):
            reasons.append(f"Not answered: {missing}")
        return "partial", " ".join(reasons)

    async def _quote_nearest(self, state: EndState, is_draft: bool) -> tuple[QuotedPassage, ...]:
        """The nearest passages; a model finds their sentences only if somebody will read them.

        They are the first of the long-term memory, which is ranked; the numbers are not. A run that
        was stopped, such as by an outage, asks no model any more.
        """
        ranks = {one: rank for rank, one in enumerate(state.get("long_term", ()))}
        memory = memory_passages(state).values()
        passages = sorted(memory, key=lambda one: ranks.get(one.id, len(ranks)))[:_NEAREST]
        if self.check_answer and self.answer and not is_draft and not state["stop"]:
            try:
                return await quote_nearest(self.answerability, state["question"], passages)
            except UNCHECKED as error:
                note(f"the nearest sentences were found by their words alone: {error}")
        return await quote_nearest(None, state["question"], passages)

    async def _record(self, question: str, claims: list[Claim], passages: list[Passage]) -> None:
        """Record the passages that each claim cites."""
        if self.evidence is None:
            return
        by_id = {passage.id: passage for passage in passages}
        for claim in claims:
            if cited := [by_id[citation.passage_id] for citation in claim.citations]:
                try:
                    await self.evidence.record(
                        question=question,
                        claim=claim.text,
                        passages=cited,
                        status=claim.verdict.status,
                        method=self.method,
                    )
                except (ModelError, StoreError) as error:
                    note(f"the cited evidence was not recorded: {error}")

    def _text(self, claims: list[Claim]) -> str:
        if self.form != "prose" or self.unverified != "flag":
            return written_out(claims, self.form)
        flags = {"unsupported": f" {FLAG}", "contradicted": f" {CONTRADICTED}"}
        return join_claims(claims, lambda one: f"{marks(one)}{flags.get(one.verdict.status, '')}")

    def _status(
        self, state: EndState, claims: list[Claim], dropped: list[str]
    ) -> tuple[Status, str]:
        doubt = state.get("doubt")
        if doubt is None and claims:
            doubt = self.doubt
        if self.agreement and not claims:
            doubt = ""  # without claims, there is nothing to agree on
        unchecked = sum(claim.verdict.status == "unchecked" for claim in claims)
        reasons = [state["stop"] or doubt or ""]
        if not self.answer:
            reasons.append("No answer was requested.")
        elif not claims:
            reasons.append(self._silence(state, dropped))
        else:
            if unchecked and not self.agreement:
                were = "was" if len(claims) == 1 else "were"
                reasons.append(f"{_some(unchecked, len(claims))} {were} not checked.")
            if unproved := sum(claim.verdict.failed for claim in claims):
                reasons.append(f"{_some(unproved, len(claims))} could not be proved.")
        if disputed := sum(bool(claim.against) for claim in claims):
            reasons.append(f"Passages say otherwise about {count(disputed, 'claim')}.")
        if claims and dropped:
            left_out = "claim was" if len(dropped) == 1 else "claims were"
            reasons.append(f"{len(dropped)} unproved {left_out} left out.")
        said = " ".join(filter(None, dict.fromkeys(reasons)))
        if not claims:
            return "not_found", said
        return ("partial" if said else "answered"), said

    def _silence(self, state: EndState, dropped: list[str]) -> str:
        """Why there is no claim."""
        if state.get("answerable") is False and not state["stop"]:
            return "None of the passages that were found answers the question."
        if dropped or (state["rejected"] and not state["stop"]):
            return "No claim could be proved from the passages."
        if state["stop"]:
            return ""
        if self.closed_book:
            return "The model gave no answer."
        if not state["passages"]:
            return "No passage was found for the question."
        return "The passages that were found do not answer the question."


def _some(number: int, of: int) -> str:
    """Say which claims are meant.

    >>> _some(1, 1), _some(2, 2), _some(1, 3)
    ('The claim', 'The claims', '1 of 3 claims')
    """
    if number == of:
        return "The claim" if of == 1 else "The claims"
    return f"{number} of {count(of, 'claim')}"


def _renumber(claims: list[Claim], passages: list[Passage]) -> tuple[list[Claim], list[Passage]]:
    """Number the cited passages in order of first use, and sort the marks of each claim."""
    by_id = {passage.id: passage for passage in passages}
    numbers: dict[str, int] = {}
    for citations in [*(c.citations for c in claims), *(c.against for c in claims)]:
        for citation in citations:
            numbers.setdefault(citation.passage_id, len(numbers) + 1)

    def renumber(citations: Iterable[Citation]) -> tuple[Citation, ...]:
        own = [c.model_copy(update={"number": numbers[c.passage_id]}) for c in citations]
        return tuple(sorted(own, key=lambda citation: citation.number))

    renumbered = []
    for claim in claims:
        own = {"citations": renumber(claim.citations), "against": renumber(claim.against)}
        renumbered.append(claim.model_copy(update=own))
    return renumbered, [by_id[passage_id] for passage_id in numbers]
