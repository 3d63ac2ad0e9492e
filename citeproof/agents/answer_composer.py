"""Puts the accepted claims together: text, numbers in order of first use, status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from citeproof.errors import StoreError
from citeproof.memory.evidence import EvidenceLog
from citeproof.state import VTGUpdate, WritingState
from citeproof.tools.citations import FLAG, marks
from citeproof.tools.nested import drafting
from citeproof.types import Answer, Citation, Claim, Passage, Usage

__all__ = ["AnswerComposer"]


class ComposerState(WritingState):
    """What the composer reads."""

    stop: str
    usage: Usage
    notes: list[str]


@dataclass(frozen=True)
class AnswerComposer:
    """Ends a run with an `Answer`, whatever has been proved by then."""

    method: str = "vtg"
    unverified: Literal["keep", "flag", "drop"] = "flag"
    evidence: EvidenceLog | None = None
    """Where cited passages are recorded for later; a failure costs the record, not the answer.
    Inside the run of another graph, which has an answer of its own, nothing is recorded."""

    async def __call__(self, state: ComposerState) -> VTGUpdate:
        """Compose the answer; without passages or claims it abstains and says why."""
        claims, passages = _renumber(state["claims"], state["passages"])
        status, reason = self._status(state, claims)
        answer = Answer(
            question=state["question"],
            method=self.method,
            status=status,
            reason=reason,
            text=" ".join(self._text(claim) for claim in claims),
            claims=tuple(claims),
            passages=tuple(passages),
            usage=state["usage"],
            notes=(*state["notes"], *await self._record(state["question"], claims, passages)),
        )
        return {"answer": answer}

    async def _record(
        self, question: str, claims: list[Claim], passages: list[Passage]
    ) -> list[str]:
        """Record what each claim cites; what went wrong, for the notes."""
        if self.evidence is None or drafting():
            return []
        by_id = {passage.id: passage for passage in passages}
        failures = []
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
                except StoreError as error:
                    failures.append(f"the cited evidence was not recorded: {error}")
        return list(dict.fromkeys(failures))

    def _text(self, claim: Claim) -> str:
        flag = (
            f" {FLAG}" if self.unverified == "flag" and claim.verdict.status != "supported" else ""
        )
        return f"{marks(claim)}{flag}"

    def _status(
        self, state: ComposerState, claims: list[Claim]
    ) -> tuple[Literal["answered", "partial", "abstained"], str]:
        reasons = [state["stop"]] if state["stop"] else []
        if not claims:
            if state["dropped"] or (state["rejected"] and not reasons):
                reasons.append("No claim could be proved from the passages.")
            elif not reasons and not state["passages"]:
                reasons.append("No passage was found for the question.")
            elif not reasons:
                reasons.append("The passages that were found do not answer the question.")
            return "abstained", " ".join(reasons)
        if all(claim.verdict.status == "unchecked" for claim in claims):
            reasons.append("The claims were not checked.")
        elif unproved := sum(claim.verdict.status != "supported" for claim in claims):
            reasons.append(f"{unproved} of {len(claims)} claims could not be proved.")
        if dropped := len(state["dropped"]):
            left_out = "claim was" if dropped == 1 else "claims were"
            reasons.append(f"{dropped} unproved {left_out} left out.")
        return ("partial" if reasons else "answered"), " ".join(reasons)


def _renumber(claims: list[Claim], passages: list[Passage]) -> tuple[list[Claim], list[Passage]]:
    """Number the cited passages in order of first use; marks of one claim ascend."""
    by_id = {passage.id: passage for passage in passages}
    numbers: dict[str, int] = {}
    for claim in claims:
        for citation in claim.citations:
            numbers.setdefault(citation.passage_id, len(numbers) + 1)

    def renumbered(citation: Citation) -> Citation:
        return citation.model_copy(update={"number": numbers[citation.passage_id]})

    renumbered_claims = [
        claim.model_copy(
            update={
                "citations": tuple(
                    sorted(map(renumbered, claim.citations), key=lambda citation: citation.number)
                )
            }
        )
        for claim in claims
    ]
    return renumbered_claims, [by_id[passage_id] for passage_id in numbers]
