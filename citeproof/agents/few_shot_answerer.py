"""Answers after the example of others, from passages or short forms of them (ALCE, section 3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from citeproof.agents.answerer import telling
from citeproof.agents.form_answerer import AnyForm, FormAnswerer
from citeproof.agents.summarizer import in_short
from citeproof.prompts import Prompt, context, template
from citeproof.prompts.demonstrations import Demonstration, demonstrations
from citeproof.state import BaselineUpdate, ShortenedState, remembered
from citeproof.tools.cited_json import answer_json
from citeproof.tools.llm import LLM
from citeproof.tools.marked_text import read_marked
from citeproof.tools.meter import note
from citeproof.tools.together import together
from citeproof.types import Claim, Passage

__all__ = ["FewShotAnswerer"]

EXAMPLE = "An example of an answer, to another question from other passages:"
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
        answerer = FormAnswerer(self._llm, form=self.form)
        prompt = answerer.prompt(state["question"], shown)
        if self.shots:
            # The same for every question, so a server that keeps prompts reads them once.
            prompt = replace(prompt, context=f"{self._shown()}\n\n{prompt.context}")
        if self.reasoning:
            prompt = replace(prompt, task=f"{prompt.task}\n\n{template('reasoning')}")
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
            on_delta=telling() if live else None,
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

    @property
    def _llm(self) -> LLM:
        # What is thought through before the answer is no part of it, and of no JSON.
        return self.llm.in_marks() if self.reasoning else self.llm

    def _shown(self) -> str:
        examples = map(self._example, demonstrations(self.form)[: self.shots])
        return "\n\n".join(f"{EXAMPLE}\n{example}" for example in examples)

    def _example(self, example: Demonstration) -> str:
        answer = example.answer
        if self.form == "prose" and self._llm.answers_in_json:
            answer = answer_json(read_marked(answer))
        if self.reasoning:
            answer = f"{example.reasoning}\nAnswer: {answer}"
        return f"{context(example.question, example.passages)}\n\n{answer}"
