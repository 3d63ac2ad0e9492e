"""Keeps the statements of draft and passages that are entailed (VeriCite, stages 1 and 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.agents.claims_verifier import ClaimsVerifier
from citeproof.runtime.events import ClaimRejected, ClaimVerified, emit
from citeproof.state import ShortenedState, Update
from citeproof.tools.citations.answer_text import marked_claim
from citeproof.tools.citations.marked_text import read_marked
from citeproof.tools.citations.marks import adds_nothing
from citeproof.tools.entailment import Entailment
from citeproof.types import Claim, Passage

__all__ = ["EvidenceSelector"]


@dataclass(frozen=True)
class EvidenceSelector(Node):
    """Verifies the statements of the draft, and those that single passages gave."""

    entailment: Entailment

    async def __call__(self, state: ShortenedState) -> Update:
        """Set `kept` and `claims` to what is entailed: evidence first, as the paper has it.

        A statement that repeats one before it is left out.
        """
        passages = dict(enumerate(state["passages"], start=1))
        given = [*_evidence(passages, state.get("short_forms", {})), *state.get("claims", [])]
        verifier = ClaimsVerifier(self.entailment)
        judged = await verifier.verify(state["question"], state["passages"], given)
        kept: list[Claim] = []
        for claim in judged:
            emit(ClaimVerified(text=claim.text, verdict=claim.verdict))
            if claim.verdict.status != "supported":
                emit(ClaimRejected(text=claim.text, reason="what it cites does not entail it"))
            elif not adds_nothing(claim.text, [other.text for other in kept]):
                kept.append(claim)
        return {"claims": kept, "kept": kept}


def _evidence(passages: Mapping[int, Passage], short_forms: Mapping[str, str]) -> list[Claim]:
    return [
        marked_claim(sentence.text, [number], passages)
        for number, passage in passages.items()
        for sentence in read_marked(short_forms.get(passage.id, ""))
    ]
