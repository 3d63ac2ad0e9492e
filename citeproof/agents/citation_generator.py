"""Chooses the passages that a claim cites; the claim itself cannot change.

`CitationGenerator` asks the model for the passages that support the current claim (VTG, 2.2),
`CitationAttacher` searches for the best-matching passage for each claim of a finished answer (ALCE,
section 3: POST-HOC CITE).
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field

from citeproof.agents.base import LLMNode, SearchNode
from citeproof.prompts import defuse, fill
from citeproof.runtime.events import EvidenceFound, emit
from citeproof.state import DraftState, SourceState, Update, append_new, memory_passages
from citeproof.tools.citations.answer_text import AnyForm, marked_claim
from citeproof.types import Claim

__all__ = ["CitationAttacher", "CitationGenerator"]

MOST = 3
"""Maximum number of passages that a claim may cite (the paper's prompt, appendix E)."""


class Citations(BaseModel):
    """The reply: numbers of passages."""

    citations: list[int] = Field(max_length=16)


@dataclass(frozen=True)
class CitationGenerator(LLMNode):
    """Cites one to three passages of the memory for the current claim."""

    async def __call__(self, state: DraftState) -> Update:
        """Set the draft's citations; numbers without a passage are dropped.

        An unreadable reply leaves the draft without citations, for the memory verifier to check.
        """
        draft = state["draft"]
        if draft is None:
            return {}
        passages = memory_passages(state)
        task = fill(
            self.template("citation_generator"),
            claim=defuse(draft.text),
            numbers=", ".join(map(str, passages)),
        )
        prompt = self.compose_prompt(state["question"], passages, task)
        reply = await self.parse(prompt, Citations, 48, "no citations could be read")
        named = dict.fromkeys(reply.citations if reply else ())
        numbers = [n for n in named if n in passages][:MOST]
        return {"draft": draft.model_copy(update={"cited": tuple(passages[n].id for n in numbers)})}


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
