"""Picks the answer that agrees most with the others (universal self-consistency; Chen et al.)."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field

from citeproof.agents.base import LLMNode
from citeproof.errors import BudgetExceededError
from citeproof.prompts import fill
from citeproof.runtime.meter import note
from citeproof.state import SamplesState, Update, memory_passages
from citeproof.tools.citations.answer_text import AnyForm, written_out

__all__ = ["AnswerSelector"]


class Choice(BaseModel):
    """The reply: the number of an answer."""

    number: int = Field(ge=1)


@dataclass(frozen=True)
class AnswerSelector(LLMNode):
    """Lets the model read all samples and choose one; it writes nothing of its own."""

    form: AnyForm = "prose"

    async def __call__(self, state: SamplesState) -> Update:
        """Set `claims` to the sample that was chosen.

        No model is called where all samples are the same; the first is kept where no number of
        a sample can be read, and where the budget ends before the choice.
        """
        samples = state["samples"]
        texts = [written_out(claims, self.form) or "(no answer)" for claims in samples]
        if len(set(texts)) < 2:
            return {"claims": next(iter(samples), [])}
        listed = "\n\n".join(f"Answer {n}: {text}" for n, text in enumerate(texts, start=1))
        task = fill(
            self.template("answer_selector"),
            question=state["question"],
            answers=listed,
            count=len(texts),
        )
        prompt = self.compose_prompt(state["question"], memory_passages(state), task)
        try:
            reply = await self.parse(prompt, Choice, 24, "the first answer was kept")
        except BudgetExceededError as error:
            return {"claims": next(filter(None, samples), []), "stop": str(error)}
        number = reply.number if reply else 1
        if number > len(samples):
            note(f"answer_selector: the first answer was kept (there is no answer {number})")
            number = 1
        return {"claims": samples[number - 1]}
