"""Looks for evidence on a claim that nothing in memory supports (VTG, section 2.4)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

from pydantic import BaseModel, Field

from citeproof.agents.base import LLMNode
from citeproof.errors import ModelReplyError
from citeproof.prompts import Prompt, context, fill
from citeproof.runtime.events import EvidenceFound, emit
from citeproof.runtime.meter import note, spend
from citeproof.state import DraftState, SourceState, Update, memory_passages, text_so_far
from citeproof.tools.questions.sources import select_source
from citeproof.tools.retrieval import coerce_retriever, retrieve_many
from citeproof.types import Usage

__all__ = ["EvidenceFinder"]


class Queries(BaseModel):
    """The reply: questions that would check the claim."""

    questions: list[str] = Field(max_length=16)


class EvidenceState(DraftState, SourceState):
    """The keys that the finder reads."""


@dataclass(frozen=True)
class EvidenceFinder(LLMNode):
    """Replaces the short-term memory by what it finds for the claim in hand."""

    retriever: Any = None
    queries: int = 2
    """M: most queries for one claim."""
    passages_per_query: int = 2
    """N."""
    diverse_queries: bool = True
    """False takes the claim itself as the only query (ablation, Table 3)."""
    queries_from_passages: bool = True
    """False hides the memory from the model that writes the queries."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.retriever is not None:
            object.__setattr__(self, "retriever", coerce_retriever(self.retriever))

    async def __call__(self, state: EvidenceState) -> Update:
        """Fill the short-term memory anew; it stays empty where nothing is found.

        Documents that came with the question are searched in place of the retriever.

        Raises:
            InputError: One of these documents is of no use.
            RetrievalError: The retriever failed.
        """
        draft = state["draft"]
        source = select_source(state, self.retriever)
        if draft is None or source is None:
            return {"short_term": []}
        questions = await self._questions(state, draft.text)
        found = await retrieve_many(source, questions, self.passages_per_query)
        spend(Usage(retrievals=len(questions)))
        passages = list({passage.id: passage for passage in chain.from_iterable(found)}.values())
        emit(EvidenceFound(queries=tuple(questions), passages=tuple(passages)))
        return {"passages": passages, "short_term": [passage.id for passage in passages]}

    async def _questions(self, state: DraftState, claim: str) -> list[str]:
        if not self.diverse_queries:
            return [claim]
        task = fill(
            self.template("evidence_finder"),
            answer=text_so_far(state) or "(nothing yet)",
            claim=claim,
            most=self.queries,
        )
        passages = memory_passages(state) if self.queries_from_passages else {}
        prompt = Prompt(self.template("system"), context(state["question"], passages), task)
        try:
            reply = await self.llm.parse(prompt, Queries, max_tokens=48 * self.queries)
        except ModelReplyError as error:
            note(f"evidence_finder: the claim itself was searched for ({error.what})")
            return [claim]
        questions = list(dict.fromkeys(q.strip() for q in reply.questions if q.strip()))
        return questions[: self.queries] or [claim]
