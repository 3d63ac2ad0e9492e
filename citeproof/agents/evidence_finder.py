"""Searches for evidence on a claim that nothing in memory supports (VTG, section 2.4)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from pydantic import BaseModel, Field

from citeproof.agents.base import LLMNode, SearchNode
from citeproof.errors import BudgetExceededError
from citeproof.prompts import defuse, fill
from citeproof.runtime.events import EvidenceFound, emit
from citeproof.state import DraftState, SourceState, Update, memory_passages, text_so_far
from citeproof.tools.questions.sources import select_source

__all__ = ["EvidenceFinder"]


class Queries(BaseModel):
    """The reply: questions that would check the claim."""

    questions: list[str] = Field(max_length=16)


class EvidenceState(DraftState, SourceState):
    """The keys that the finder reads."""


@dataclass(frozen=True)
class EvidenceFinder(SearchNode, LLMNode):
    """Replaces the short-term memory by passages that it finds for the current claim."""

    queries: int = 2
    """M: maximum number of queries for a claim."""
    passages_per_query: int = 2
    """N: number of passages for each query."""
    diverse_queries: bool = True
    """False uses the claim itself as the only query (ablation, Table 3)."""
    queries_from_passages: bool = True
    """False hides the memory from the model that writes the queries."""

    async def __call__(self, state: EvidenceState) -> Update:
        """Refill the short-term memory; it is empty if nothing is found.

        If documents came with the question, the node searches these instead of the retriever. If
        the budget allows no call, the memory stays and `stop` says so: the claims that come later
        may be proved without a call.
        """
        draft = state["draft"]
        source = select_source(state, self.retriever)
        if draft is None or source is None:
            return {"short_term": []}
        try:
            questions = await self._questions(state, draft.text)
        except BudgetExceededError as error:
            return {"stop": str(error)}
        found = await self.search(source, questions, self.passages_per_query)
        passages = list({passage.id: passage for passage in chain.from_iterable(found)}.values())
        emit(EvidenceFound(queries=tuple(questions), passages=tuple(passages)))
        return {"passages": passages, "short_term": [passage.id for passage in passages]}

    async def _questions(self, state: DraftState, claim: str) -> list[str]:
        if not self.diverse_queries:
            return [claim]
        task = fill(
            self.template("evidence_finder"),
            answer=defuse(text_so_far(state)) or "(nothing yet)",
            claim=defuse(claim),
            most=self.queries,
        )
        passages = memory_passages(state) if self.queries_from_passages else {}
        prompt = self.compose_prompt(state["question"], passages, task)
        instead = "the claim itself was searched for"
        reply = await self.parse(prompt, Queries, 48 * self.queries, instead)
        questions = (question.strip() for question in (reply.questions if reply else ()))
        return list(dict.fromkeys(filter(None, questions)))[: self.queries] or [claim]
