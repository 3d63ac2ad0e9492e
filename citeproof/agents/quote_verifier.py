"""Checks whether the quotes are words of the passages: a proof by identity, without a model."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.runtime.events import ClaimRejected, ClaimVerified, emit
from citeproof.runtime.meter import note
from citeproof.state import NodeState, Update
from citeproof.tools.citations.marks import content, supporting_sentence
from citeproof.tools.citations.quotes import find_quote
from citeproof.types import Claim, Passage, Verdict

__all__ = ["QuoteVerifier"]

_MOST = 0.5
IDENTICAL = Verdict(status="supported", tier="cited", score=1.0)


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
            enough = len(wanted & content(sentence)) > _MOST * len(wanted)
            if enough and (quote := find_quote(sentence, passage)):
                return quote.claim(number, IDENTICAL)
        return None
