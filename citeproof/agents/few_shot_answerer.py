"""Answers after the example of others, from passages or short forms of them (ALCE, section 3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from citeproof.agents.answerer import EXAMPLE
from citeproof.agents.form_answerer import AnyForm, FormAnswerer
from citeproof.agents.summarizer import in_short
from citeproof.prompts import Prompt, context, template
from citeproof.prompts.demonstrations import Demonstration, demonstrations
from citeproof.state import BaselineUpdate, ShortenedState, remembered
from citeproof.tools.events import ClaimDelta, emit
from citeproof.tools.llm import LLM
from citeproof.tools.meter import note
from citeproof.tools.together import together
from citeproof.types import Claim, Passage

__all__ = ["FewShotAnswerer"]

REASONING_TOKENS = 250
"""Room for the reasoning, which the prompt limits to 100 words."""

_HEADING = re.compile(r"(?:^|\n)(?:[^\w\n]|_)*(?:final\s+)?answers?\b[*_ \t]*:[*_]*", re.IGNORECASE)


@dataclass(frozen=True)
class FewShotAnswerer:
    """VANILLA, and the last step of all the others: one call, one answer that nothing checked."""

    llm: LLM
    answer_tokens: int = 300
    """Longest answer, in tokens."""
    temperature: float | None = None
    """None takes that of the settings."""
    form: AnyForm = "prose"
    shots: int = 2
    """Examples that are shown, 0 to 2: at most 1,400 characters both together, or 2,000 with
    their reasoning, passages included."""
    reasoning: bool = False
    """Whether the model reasons before it answers (ALCE-CoT)."""

    async def __call__(self, state: ShortenedState) -> BaselineUpdate:
        """Set `claims` to the answer; empty where there is no passage to answer from."""
        [claims] = await self.answers(state, 1)
        return {"claims": claims}

    async def answers(self, state: ShortenedState, count: int) -> list[list[Claim]]:
        """So many answers to one prompt, asked for at once; no call where there is no passage.

        Citations bear the numbers of the run, and name the passages themselves, also where
        only a short form of them was read.

        Raises:
            ModelOutageError: No answer in spite of retries.
            ModelError: The provider refuses the call.
            BudgetExceededError: The budget allows no further call.
        """
        passages = remembered(state)
        if not passages:
            return [[] for _ in range(count)]
        summaries = state.get("summaries", {})
        shown = {number: in_short(passage, summaries) for number, passage in passages.items()}
        answerer = FormAnswerer(self.llm, demonstration=self._shown(), form=self.form)
        prompt = answerer.prompt(state["question"], shown)
        if self.reasoning:
            task = f"{prompt.task}\n\n{template('reasoning')}"
            prompt = Prompt(prompt.system, prompt.context, task)
        live = count == 1 and not self.reasoning
        replies = await together(
            [partial(self._reply, prompt, sample, live) for sample in range(count)], count
        )
        return [self._read(answerer, reply, passages) for reply in replies]

    async def _reply(self, prompt: Prompt, sample: int, live: bool) -> str:
        return await self.llm.text(
            prompt,
            max_tokens=self.answer_tokens + (REASONING_TOKENS if self.reasoning else 0),
            temperature=self.temperature,
            sample=sample,
            on_delta=(lambda text: emit(ClaimDelta(text=text))) if live else None,
        )

    def _read(
        self, answerer: FormAnswerer, reply: str, passages: Mapping[int, Passage]
    ) -> list[Claim]:
        if not self.reasoning:
            return answerer.read(reply, passages)
        *_, answer = parts = _HEADING.split(reply)
        if len(parts) == 1:
            note("answerer: no heading parts the reasoning from the answer")
            if self.form != "prose":  # sentences must not be read as names
                return []
        return answerer.read(answer, passages)

    def _shown(self) -> str:
        return f"\n\n{EXAMPLE}\n".join(map(self._example, demonstrations(self.form)[: self.shots]))

    def _example(self, example: Demonstration) -> str:
        answer = example.answer
        if self.reasoning:
            answer = f"{example.reasoning}\nAnswer: {answer}"
        return f"{context(example.question, example.passages)}\n\n{answer}"
