"""Writes several answers to one question, of which one will be chosen (ALCE: RERANK; USC)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.few_shot_answerer import FewShotAnswerer
from citeproof.state import BaselineUpdate, ShortenedState

__all__ = ["AnswerSampler"]


@dataclass(frozen=True)
class AnswerSampler(FewShotAnswerer):
    """VANILLA, several times at once; the server reads the prompt once where it keeps prefixes."""

    temperature: float | None = 1.0
    """At 0 all answers are the same."""
    samples: int = 4

    async def __call__(self, state: ShortenedState) -> BaselineUpdate:
        """Set `samples`: the claims of each answer."""
        return {"samples": await self.answers(state, self.samples)}
