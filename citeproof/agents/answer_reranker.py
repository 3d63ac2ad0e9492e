"""Keeps the answer with the highest citation recall (ALCE, section 3: RERANK)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from citeproof.agents.base import Node
from citeproof.agents.claims_verifier import ClaimsVerifier
from citeproof.agents.refinement_selector import share
from citeproof.errors import BudgetExceededError
from citeproof.runtime.events import ClaimVerified, emit
from citeproof.state import SamplesState, Update, memory_passages
from citeproof.tools.citations.answer_text import AnyForm
from citeproof.tools.entailment import OUTAGE, Entailment
from citeproof.types import Citation, Claim, Verdict

__all__ = ["AnswerReranker"]

NONE_COUNTS = "No sample scored more than 0, and ALCE's released program then gives no answer."


@dataclass(frozen=True)
class AnswerReranker(Node):
    """Scores all samples in one batch; of equal ones the first is kept that holds anything."""

    entailment: Entailment
    definition: Literal["paper", "released"] = "paper"
    """`paper`: the share of an answer's claims that the passages they cite entail. `released`:
    of those that cite anything and that all passages together entail, as ALCE's program
    computes it; where every sample scores 0, nothing is kept."""
    form: AnyForm = "prose"

    async def __call__(self, state: SamplesState) -> Update:
        """Set `claims` to the best sample; by the paper's definition its claims bear verdicts.

        Numbers that no passage bears were dropped when the samples were read, so a claim is
        judged by the citations that the answer would show. Where a judge would exceed the
        budget, or the entailment model's server does not answer, the first sample that holds
        anything is kept, unchecked.
        """
        samples = state["samples"]
        if not samples:
            return {"claims": []}
        try:
            judged = await self._verify_samples(state)
        except BudgetExceededError as error:
            return {"claims": next(filter(None, samples), []), "stop": str(error)}
        if (verdict := _outage(judged)) is not None:
            kept = next(filter(None, samples), [])
            return {"claims": [c.model_copy(update={"verdict": verdict}) for c in kept]}
        recalls = [share(claims) for claims in judged]
        best = max(range(len(samples)), key=lambda n: (recalls[n], bool(samples[n])))
        if self.definition == "released":
            return {"claims": samples[best]} if recalls[best] else {"stop": NONE_COUNTS}
        for claim in judged[best]:
            emit(ClaimVerified(text=claim.text, verdict=claim.verdict))
        return {"claims": judged[best]}

    async def _verify_samples(self, state: SamplesState) -> list[list[Claim]]:
        claims = [claim for claims in state["samples"] for claim in claims]
        if self.definition == "released":
            everything = tuple(
                Citation(passage_id=passage.id, number=number)
                for number, passage in memory_passages(state).items()
            )
            claims = [
                claim.model_copy(update={"citations": everything}) if claim.citations else claim
                for claim in claims
            ]
        verifier = ClaimsVerifier(self.entailment, self.form)
        verified = iter(await verifier.verify(state["question"], state["passages"], claims))
        return [[next(verified) for _ in claims] for claims in state["samples"]]


def _outage(judged: Sequence[Sequence[Claim]]) -> Verdict | None:
    """The verdict that says that none could be found."""
    verdicts = (claim.verdict for claims in judged for claim in claims)
    return next((verdict for verdict in verdicts if verdict.reason == OUTAGE), None)
