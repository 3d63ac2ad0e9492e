"""Says in short what passages hold for the question (LLatrieval, appendix A.1; ALCE, SUMM)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from citeproof.prompts import Prompt, context, template
from citeproof.state import LLatrievalUpdate, SearchState
from citeproof.tools.llm import LLM
from citeproof.tools.meter import note
from citeproof.types import Passage

__all__ = ["Summarizer"]


@dataclass(frozen=True)
class Summarizer:
    """Summarises all passages that the selector is going to read, each once for a question."""

    llm: LLM
    summary_tokens: int = 96
    """Longest summary, in tokens."""
    at_once: int = 8
    """Most calls under way at a time. A budget of calls may be exceeded by as many, less one."""

    async def __call__(self, state: SearchState) -> LLatrievalUpdate:
        """Add the summaries of D and of the waiting candidates that have none yet."""
        kept = state["summaries"]
        wanted = {*state["long_term"], *state["waiting"]} - kept.keys()
        passages = [passage for passage in state["passages"] if passage.id in wanted]
        return {"summaries": {**kept, **await self.summaries(state["question"], passages)}}

    async def summaries(self, question: str, passages: Sequence[Passage]) -> dict[str, str]:
        """Passage id → what the passage says that helps to answer the question.

        An empty reply leaves the passage's own text.

        Raises:
            ModelOutageError: No answer in spite of retries.
            ModelError: The provider refuses the call.
            BudgetExceededError: The budget allows no further call.
        """
        gate = asyncio.Semaphore(self.at_once)

        async def one(passage: Passage) -> str:
            async with gate:
                return await self._summary(question, passage)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = {p.id: group.create_task(one(p)) for p in passages}
        except ExceptionGroup as errors:
            # The first failure has ended the others; nobody has use for the group around it.
            raise errors.exceptions[0] from errors.exceptions[0].__cause__
        return {passage_id: task.result() for passage_id, task in tasks.items()}

    async def _summary(self, question: str, passage: Passage) -> str:
        prompt = Prompt(template("system"), context(question, {1: passage}), template("summarizer"))
        reply = await self.llm.text(prompt, max_tokens=self.summary_tokens)
        summary = " ".join(reply.split())
        if not any(map(str.isalnum, summary)):
            note("summarizer: an empty summary, the passage's own text was read")
            return passage.text
        return summary
