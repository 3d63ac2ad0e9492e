"""Shortens passages to what helps with the question (ALCE, section 3: SUMM and SNIPPET)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from citeproof.agents.summarizer import Summarizer
from citeproof.state import BaselineUpdate, MemoryState, remembered
from citeproof.tools.llm import LLM
from citeproof.tools.meter import note

__all__ = ["Condenser"]

_FIRST_WORD = re.compile(r"\W*irrelevant\b", re.IGNORECASE)
_WORD = re.compile(r"\b(?:irrelevant|not relevant)\b", re.IGNORECASE)
_SHORT = 15
"""Words; a longer text that has the word inside says something."""


@dataclass(frozen=True)
class Condenser:
    """Shortens each passage of the memory, and takes out those that do not help."""

    llm: LLM
    style: Literal["summary", "snippet"] = "summary"
    """`summary`: in about 50 words of the model's; `snippet`: in words of the passage."""
    summary_tokens: int = 100
    """Longest summary or snippet, in tokens."""
    at_once: int = 8
    """Most calls under way at a time."""

    async def __call__(self, state: MemoryState) -> BaselineUpdate:
        """Set the short forms, and let the memory hold only passages that have one.

        Where the model calls all of them irrelevant, the first is read in full; ALCE's released
        program then reads the next one of the ranking, which has no summary. The passages
        themselves stay as they are, for citations to be judged.
        """
        summarizer = Summarizer(
            self.llm, self.summary_tokens, self.at_once, prompt=f"condenser_{self.style}"
        )
        passages = list(remembered(state).values())
        written = await summarizer.summaries(state["question"], passages)
        summaries = {key: text for key, text in written.items() if not is_irrelevant(text)}
        kept = [key for key in state["long_term"] if key in summaries]
        if passages and not kept:
            note("condenser: no passage was called relevant; the first was read in full")
            kept = [passages[0].id]
        return {"summaries": summaries, "long_term": kept}


def is_irrelevant(text: str) -> bool:
    """Whether a reply says that the passage does not help, and nothing else."""
    short = len(text.split()) <= _SHORT
    return bool(_FIRST_WORD.match(text)) or (short and bool(_WORD.search(text)))
