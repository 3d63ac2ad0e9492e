"""Checks whether the cited passages entail the claims of a finished answer, in one batch.

`EvidenceSelector` keeps the claims that are entailed (VeriCite, stage 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from citeproof.agents.base import Node
from citeproof.errors import VerifierOutageError
from citeproof.runtime.events import ClaimRejected, ClaimVerified, emit
from citeproof.state import NodeState, ShortenedState, Update
from citeproof.tools.citations.answer_text import AnyForm, marked_claim
from citeproof.tools.citations.marked_text import read_marked
from citeproof.tools.citations.marks import adds_nothing, cite
from citeproof.tools.entailment import Entailment, find_supports, unchecked
from citeproof.types import Claim, Passage

__all__ = ["ClaimsVerifier", "EvidenceSelector"]


class ClaimsState(NodeState):
    """The keys that the verifier reads."""

    question: str
    passages: list[Passage]
    claims: list[Claim]


@dataclass(frozen=True)
class ClaimsVerifier(Node):
    """Checks each claim against the passages it cites."""

    entailment: Entailment
    form: AnyForm = "prose"
    """Outside prose, a claim is checked together with the question: a name states nothing by
    itself."""

    async def __call__(self, state: ClaimsState) -> Update:
        """Give each claim a verdict; nothing else about the claims changes."""
        claims = await self.verify(state["question"], state["passages"], state["claims"])
        for claim in claims:
            emit(ClaimVerified(text=claim.text, verdict=claim.verdict))
        return {"claims": claims}

    async def verify(
        self, question: str, passages: Sequence[Passage], claims: Sequence[Claim]
    ) -> list[Claim]:
        """The claims with their verdicts, in order; a claim without citations is unsupported.

        If the entailment model's server does not answer, all claims stay unchecked.

        Args:
            question: The question of the run.
            passages: The passages of the run, numbered from 1 by position.
            claims: The claims of one or several answers; all their pairs are scored at once.
        """
        numbered = dict(enumerate(passages, start=1))
        cited = [{citation.passage_id for citation in claim.citations} for claim in claims]
        asked = [
            (
                {number: p for number, p in numbered.items() if p.id in ids},
                claim.text if self.form == "prose" else f"{question} {claim.text}",
            )
            for ids, claim in zip(cited, claims, strict=True)
        ]
        before = [*accumulate((claim.text for claim in claims), "{} {}".format, initial="")]
        try:
            supports = await find_supports(
                self.entailment, question, asked, fewest=False, before=before[:-1]
            )
        except VerifierOutageError as error:
            verdict = unchecked(error)
            return [claim.model_copy(update={"verdict": verdict}) for claim in claims]
        judged = []
        for claim, support in zip(claims, supports, strict=True):
            verdict = support.verdict("cited", claim.verdict.trials)
            against = cite(support.against, claim.text)
            judged.append(claim.model_copy(update={"verdict": verdict, "against": against}))
        return judged


@dataclass(frozen=True)
class EvidenceSelector(Node):
    """Keeps the entailed statements from the draft and from single passages (VeriCite, stage 2)."""

    entailment: Entailment

    async def __call__(self, state: ShortenedState) -> Update:
        """Set `kept` and `claims` to the entailed statements: evidence first, as in the paper.

        A statement that repeats an earlier one is left out. If the entailment model's server does
        not answer, the statements stay, unchecked.
        """
        passages = dict(enumerate(state["passages"], start=1))
        given = [*_evidence(passages, state.get("short_forms", {})), *state.get("claims", [])]
        verifier = ClaimsVerifier(self.entailment)
        judged = await verifier.verify(state["question"], state["passages"], given)
        kept: list[Claim] = []
        for claim in judged:
            emit(ClaimVerified(text=claim.text, verdict=claim.verdict))
            if claim.verdict.failed:
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
