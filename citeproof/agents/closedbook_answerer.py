"""Answers from what the model knows, without any passage (ALCE, section 3: CLOSEDBOOK)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.form_answerer import AnyForm, FormAnswerer
from citeproof.agents.question_opener import OpenerState
from citeproof.prompts import Prompt, fill, template
from citeproof.prompts.demonstrations import demonstrations
from citeproof.state import BaselineUpdate
from citeproof.tools.citations import strip_marks
from citeproof.tools.events import ClaimDelta, emit
from citeproof.tools.llm import LLM

__all__ = ["ClosedbookAnswerer"]


@dataclass(frozen=True)
class ClosedbookAnswerer:
    """Writes the whole answer in one call; nothing of it is cited."""

    llm: LLM
    answer_tokens: int = 300
    """Longest answer, in tokens."""
    temperature: float | None = None
    """None takes that of the settings."""
    form: AnyForm = "prose"
    shots: int = 2
    """Examples that are shown, 0 to 2; without passages and marks."""

    async def __call__(self, state: OpenerState) -> BaselineUpdate:
        """Set `claims` to the answer.

        Raises:
            ModelOutageError: No answer in spite of retries.
            ModelError: The provider refuses the call.
            BudgetExceededError: The budget allows no further call.
        """
        examples = (
            f"Question: {example.question}\nAnswer: {strip_marks(example.answer)}\n\n"
            for example in demonstrations(self.form)[: self.shots]
        )
        name = "closedbook_answerer" if self.form == "prose" else f"closedbook_{self.form}_answerer"
        task = fill(template(name), demonstration="".join(examples), question=state["question"])
        # The system line speaks of passages, of which there are none.
        reply = await self.llm.text(
            Prompt("", "", task),
            max_tokens=self.answer_tokens,
            temperature=self.temperature,
            stop=["\nQuestion:"],  # where the model goes on with questions of its own
            on_delta=lambda text: emit(ClaimDelta(text=text)),
        )
        return {"claims": FormAnswerer(self.llm, form=self.form).read(reply, {})}
