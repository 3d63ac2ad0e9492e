"""Shortens passages with respect to the question (LLatrieval, appendix A.1; ALCE, section 3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from citeproof.agents.base import LLMNode
from citeproof.runtime.gather import together
from citeproof.runtime.meter import note
from citeproof.state import SearchState, Update, memory_passages
from citeproof.types import Passage

__all__ = ["Summarizer"]

_FIRST_WORD = re.compile(r"\W*irrelevant\b", re.IGNORECASE)
_WORD = re.compile(r"\b(?:irrelevant|not relevant)\b", re.IGNORECASE)
_SHORT = 15
"""In words; a longer reply that contains "irrelevant" is a summary."""


@dataclass(frozen=True)
class Summarizer(LLMNode):
    """Shortens passages to the parts that help to answer the question.

    The prompts are `summarizer` and `summarizer_answer`; `condenser_summary`, `condenser_snippet`
    and `condenser_evidence` are those of the styles.
    """

    summary_tokens: int = 96
    """Maximum length of a summary, in tokens."""
    summary_style: Literal["summary", "answer"] = "summary"
    """Whether LLatrieval's selector reads a summary for the question, or an answer to it."""
    at_once: int = 8
    """Maximum number of concurrent calls. A run can exceed its budget of calls by at most this
    number minus one."""
    style: Literal["", "summary", "snippet", "evidence"] = ""
    """Empty summarises the candidates that LLatrieval's selector will read. The other styles
    shorten the passages of the memory and remove those that do not help: `summary` (ALCE: SUMM)
    writes about 50 words, `snippet` copies words of the passage, and `evidence` (VeriCite) writes
    the answer that a passage gives by itself."""

    @property
    def prompt_name(self) -> str:
        """The prompt of its style."""
        if self.style:
            return f"condenser_{self.style}"
        return "summarizer" if self.summary_style == "summary" else "summarizer_answer"

    async def __call__(self, state: SearchState) -> Update:
        """Add the missing summaries; each passage is summarised once per question."""
        if self.style:
            return await self._condense(state)
        kept = state["summaries"]
        wanted = {*state.get("long_term", ()), *state["waiting"]} - kept.keys()
        passages = [passage for passage in state["passages"] if passage.id in wanted]
        return {"summaries": {**kept, **await self._summaries(state["question"], passages)}}

    async def _condense(self, state: SearchState) -> Update:
        """The short forms, and a memory with only the passages that have one.

        If the model calls all passages irrelevant, the first is read in full; ALCE's released
        program then reads the next one of the ranking, which has no summary. The passages
        themselves stay unchanged, since citations are judged against them.
        """
        passages = list(memory_passages(state).values())
        written = await self._summaries(state["question"], passages)
        summaries = {key: text for key, text in written.items() if not is_irrelevant(text)}
        kept = [passage.id for passage in passages if passage.id in summaries]
        if passages and not kept and self.style != "evidence":
            note("summarizer: no passage was called relevant; the first was read in full")
            kept = [passages[0].id]
        return {"short_forms": summaries, "long_term": kept}

    async def _summaries(self, question: str, passages: Sequence[Passage]) -> dict[str, str]:
        """Passage id → the part of the passage that helps to answer the question.

        If a reply is empty, the passage keeps its own text.
        """
        jobs = [partial(self._summary, question, passage) for passage in passages]
        written = await together(jobs, self.at_once)
        return {passage.id: text for passage, text in zip(passages, written, strict=True)}

    async def _summary(self, question: str, passage: Passage) -> str:
        prompt = self.compose_prompt(question, {1: passage}, self.template())
        reply = await self.llm.text(prompt, max_tokens=self.summary_tokens)
        summary = " ".join(reply.split())
        if not any(map(str.isalnum, summary)):
            note("summarizer: an empty summary, the passage's own text was read")
            return passage.text
        return summary


def is_irrelevant(text: str) -> bool:
    """Whether a reply says only that the passage does not help."""
    short = len(text.split()) <= _SHORT
    return bool(_FIRST_WORD.match(text)) or (short and bool(_WORD.search(text)))
