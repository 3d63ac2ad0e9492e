"""Writes A, the first answer, with a demonstration in sight (R²-MGA, Initialization)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.answerer import Answerer
from citeproof.state import R2MGAUpdate, ReflectionState, remembered
from citeproof.tools.llm import LLM

__all__ = ["Initializer"]


@dataclass(frozen=True)
class Initializer:
    """An answerer that takes its demonstration from the state."""

    llm: LLM
    answer_tokens: int = 300
    """Longest answer, in tokens."""
    may_abstain: bool = False
    """Whether the model is offered to write nothing where the passages give no answer."""

    async def __call__(self, state: ReflectionState) -> R2MGAUpdate:
        """Set `claims` to the first answer; empty where the model says nothing."""
        answerer = Answerer(
            self.llm,
            answer_tokens=self.answer_tokens,
            demonstration=state["demonstration"],
            may_abstain=self.may_abstain,
        )
        return {"claims": await answerer.write(state["question"], remembered(state))}
