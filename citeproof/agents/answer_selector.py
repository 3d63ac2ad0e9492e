"""Chooses one of several answers.

`AnswerSelector` chooses the one that agrees most with the others (universal self-consistency; Chen
et al.), `AnswerReranker` the one with the highest citation recall (ALCE, section 3: RERANK).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field

from citeproof.agents.base import LLMNode, Node
from citeproof.agents.claims_verifier import ClaimsVerifier
from citeproof.errors import BudgetExceededError
from citeproof.prompts import fill
from citeproof.runtime.events import ClaimVerified, emit
from citeproof.runtime.meter import note
from citeproof.state import SamplesState, Update, memory_passages, proved_share
from citeproof.tools.citations.answer_text import AnyForm, written_out
from citeproof.tools.entailment import OUTAGE, Entailment
from citeproof.types import Citation, Claim, Verdict

__all__ = ["AnswerReranker", "AnswerSelector"]


class Choice(BaseModel):
    """The reply: the number of an answer."""

    number: int = Field(ge=1)


@dataclass(frozen=True)
class AnswerSelector(LLMNode):
    """Lets the model read all samples and choose one; it writes no text itself."""

    form: AnyForm = "prose"

    async def __call__(self, state: SamplesState) -> Update:
        """Set `claims` to the chosen sample.

        If all samples are the same, no model is called. If the reply names no sample, or the
        budget ends before the choice, the first sample is kept.
        """
        samples = state["samples"]
        texts = [written_out(claims, self.form) or "(no answer)" for claims in samples]
        if len(set(texts)) < 2:
            return {"claims": next(iter(samples), [])}
        listed = "\n\n".join(f"Answer {n}: {text}" for n, text in enumerate(texts, start=1))
        task = fill(
            self.template("answer_selector"),
            question=state["question"],
            answers=listed,
            count=len(texts),
        )
        prompt = self.compose_prompt(state["question"], memory_passages(state), task)
        try:
            reply = await self.parse(prompt, Choice, 24, "the first answer was kept")
        except BudgetExceededError as error:
            return {"claims": next(filter(None, samples), []), "stop": str(error)}
        number = reply.number if reply else 1
        if number > len(samples):
            note(f"answer_selector: the first answer was kept (there is no answer {number})")
            number = 1
        return {"claims": samples[number - 1]}


NONE_COUNTS = "No sample scored more than 0, and ALCE's released program then gives no answer."


@dataclass(frozen=True)
class AnswerReranker(Node):
    """Scores all samples in one batch and keeps the best; of several, the first non-empty one."""

    entailment: Entailment
    definition: Literal["paper", "released"] = "paper"
    """`paper` scores an answer by the share of its claims that their own cited passages entail.
    `released` scores it as ALCE's program does, by the share of its claims that have citations and
    that all passages together entail; if every sample scores 0, none is kept."""
    form: AnyForm = "prose"

    async def __call__(self, state: SamplesState) -> Update:
        """Set `claims` to the best sample; with the paper's definition, they have verdicts.

        Numbers without a passage were dropped when the samples were read, so each claim is judged
        by the citations that the answer would show. If a judge would exceed the budget, or the
        entailment model's server does not answer, the first non-empty sample is kept, unchecked.
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
        recalls = [proved_share(claims) for claims in judged]
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
    """The verdict on claims that could not be checked."""
    verdicts = (claim.verdict for claims in judged for claim in claims)
    return next((verdict for verdict in verdicts if verdict.reason == OUTAGE), None)
