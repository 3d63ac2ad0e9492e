"""Cites the best-matching passage for each claim (ALCE, section 3: POST-HOC CITE)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import SearchNode
from citeproof.runtime.events import EvidenceFound, emit
from citeproof.state import SourceState, Update, append_new
from citeproof.tools.citations.answer_text import AnyForm, marked_claim
from citeproof.types import Claim

__all__ = ["CitationAttacher"]


class AttacherState(SourceState):
    """The keys that the attacher reads."""

    claims: list[Claim]


@dataclass(frozen=True)
class CitationAttacher(SearchNode):
    """Searches for each claim and cites the first passage found, whether it proves it or not.

    The paper searches the hundred best passages for the question; this node searches all passages.
    """

    form: AnyForm = "prose"
    """Outside prose, the query is the question followed by the claim, which is only a name."""

    async def __call__(self, state: AttacherState) -> Update:
        """Set the citations and the passages; a claim without a match stays uncited."""
        claims, source = state["claims"], self.source(state)
        queries = [
            claim.text if self.form == "prose" else f"{state['question']} {claim.text}"
            for claim in claims
        ]
        found = await self.search(source, queries, 1)
        passages = append_new([], [passage for best in found for passage in best])
        emit(EvidenceFound(queries=tuple(queries), passages=tuple(passages)))
        numbered = dict(enumerate(passages, start=1))
        numbers = {passage.id: number for number, passage in numbered.items()}
        return {
            "passages": passages,
            "long_term": list(numbers),
            "claims": [
                marked_claim(claim.text, [numbers[passage.id] for passage in best], numbered)
                for claim, best in zip(claims, found, strict=True)
            ],
        }
