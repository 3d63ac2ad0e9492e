"""Cites the passages that support the claim; the claim itself cannot change (VTG, 2.2)."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field

from citeproof.agents.base import LLMNode
from citeproof.prompts import defuse, fill
from citeproof.state import DraftState, Update, memory_passages

__all__ = ["CitationGenerator"]

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
