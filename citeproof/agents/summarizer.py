"""Says in short what passages hold for the question (LLatrieval, appendix A.1; ALCE, SUMM)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from citeproof.prompts import Prompt, context, template
from citeproof.state import LLatrievalUpdate, SearchState
from citeproof.tools.llm import LLM
from citeproof.tools.meter import note
from citeproof.tools.together import together
from citeproof.types import Passage

__all__ = ["Summarizer", "in_short"]


@dataclass(frozen=True)
class Summarizer:
    """Summarises all passages that the selector is going to read, each once for a question."""

    llm: LLM
    summary_tokens: int = 96
    """Longest summary, in tokens."""
    at_once: int = 8
    """Most calls under way at a time. A budget of calls may be exceeded by as many, less one."""
    prompt: str = "summarizer"
    """Name of the prompt that is asked of each passage."""

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
        jobs = [partial(self._summary, question, passage) for passage in passages]
        written = await together(jobs, self.at_once)
        return {passage.id: text for passage, text in zip(passages, written, strict=True)}

    async def _summary(self, question: str, passage: Passage) -> str:
        prompt = Prompt(template("system"), context(question, {1: passage}), template(self.prompt))
        reply = await self.llm.text(prompt, max_tokens=self.summary_tokens)
        summary = " ".join(reply.split())
        if not any(map(str.isalnum, summary)):
            note("summarizer: an empty summary, the passage's own text was read")
            return passage.text
        return summary


def in_short(passage: Passage, summaries: Mapping[str, str]) -> Passage:
    """The passage with its summary in place of its text, where it has one."""
    summary = summaries.get(passage.id)
    return passage if summary is None else passage.model_copy(update={"text": summary})
