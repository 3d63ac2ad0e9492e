"""Contrasts the main LM's answer with the verifier LM's (CaLM, section 4, step 4)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.runtime.events import ClaimRejected, ClaimVerified, emit
from citeproof.state import CandidateState, Contrast, Corroboration, Update
from citeproof.text import count
from citeproof.tools.citations.answer_text import AnyForm
from citeproof.tools.rouge import rouge_2, tokenize
from citeproof.types import Claim, Verdict

__all__ = ["AgreementChecker"]

_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True)
class AgreementChecker(Node):
    """Accepts the main LM's answer, or keeps the statements that the verifier LM corroborates."""

    threshold: float = 0.5
    """θ: least ROUGE-2 of the two answers at which the main LM's answer is accepted, 0 to 1."""
    statement_threshold: float = 0.4
    """Least share of a statement's bigrams in the verifier's answer at which the statement is kept,
    0 to 1."""
    form: AnyForm = "prose"
    """Outside prose, each claim is an entity, which is kept if the verifier names the same one. A
    single name has few bigrams or none, so the two models agree if they give the same name."""

    async def __call__(self, state: CandidateState) -> Update:
        """Add a round: how far the answers agree, and which statements are kept.

        A statement without citations is never kept, and an answer without citations is never
        accepted. Verdicts stay `unchecked`, since agreement is no proof by entailment; their
        reasons say whether the claim was corroborated.
        """
        # Counting is fast, but loading the library takes seconds.
        contrast = await asyncio.to_thread(
            self.contrast, state["claims"], state["verifier_claims"], len(state["rounds"]) + 1
        )
        claims, kept = list[Claim](), list[Claim]()
        for claim, found in zip(state["claims"], contrast.statements, strict=True):
            reason = _reason(claim, found)
            verdict = Verdict(status="unchecked", trials=contrast.number, reason=reason)
            claims.append(claim.model_copy(update={"verdict": verdict}))
            emit(ClaimVerified(text=claim.text, verdict=verdict))
            if found.corroborated:
                kept.append(claims[-1])
            elif not contrast.agreed:
                emit(ClaimRejected(text=claim.text, reason=reason))
        times = count(contrast.number, "round")
        doubt = f"No agreement in {times}; the answer is the last, which was not verified."
        return {
            "claims": claims,
            "kept": kept,
            "rounds": [*state["rounds"], contrast],
            "doubt": "" if contrast.agreed else doubt,
        }

    def contrast(
        self, claims: Sequence[Claim], verifier_claims: Sequence[Claim], number: int
    ) -> Contrast:
        """Compare two answers as round `number`, counted from 1; blocks."""
        said = [claim.text for claim in verifier_claims]
        between = " " if self.form == "prose" else ", "
        answer = between.join(claim.text for claim in claims)
        verifier_answer = between.join(said)
        rouge = rouge_2(answer, verifier_answer).f1
        statements = tuple(self._corroboration(claim, said) for claim in claims)
        same = self.form == "short" and all(found.corroborated for found in statements)
        agreed = same or rouge >= self.threshold
        return Contrast(
            number=number,
            rouge_2=rouge,
            agreed=agreed and any(claim.citations for claim in claims),
            answer=answer,
            verifier_answer=verifier_answer,
            statements=statements,
        )

    def _corroboration(self, claim: Claim, said: list[str]) -> Corroboration:
        text = claim.text
        if self.form != "prose":
            by = next((other for other in said if entity(other) == entity(text) != ""), "")
            share, enough = float(bool(by)), bool(by)
        else:
            # Several statements may together say what one says, so the whole answer counts.
            shares = {other: rouge_2(text, other).recall for other in said}
            # A single word has no bigram: it is found only as a separate statement.
            share = max([rouge_2(text, " ".join(said)).recall, *shares.values()])
            enough = share >= self.statement_threshold
            by = max(shares, key=lambda other: shares[other], default="")
            by = by if shares.get(by) else ""
        return Corroboration(
            statement=text, share=share, by=by, corroborated=enough and bool(claim.citations)
        )


def entity(text: str) -> str:
    """An entity's name for comparison, without case, punctuation or articles (SQuAD, ALCE)."""
    words = tokenize(text)
    return " ".join([word for word in words if word not in _ARTICLES] or words)


def _reason(claim: Claim, found: Corroboration) -> str:
    if not claim.citations:
        return "it cites nothing to verify"
    if found.corroborated:
        return f"corroborated by the verifier LM, not by entailment: “{found.by}”"
    return "the verifier LM does not say this"
