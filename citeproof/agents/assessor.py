"""Assesses the answer in three respects: F (R²-MGA, Assessment; and the update of the memory)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from citeproof.agents.base import LLMNode
from citeproof.agents.summarizer import read_passages
from citeproof.prompts import Prompt, fill
from citeproof.runtime.meter import note
from citeproof.state import Reflection, ReflectionState, Update
from citeproof.tools.citations.answer_text import AnyForm, introduce, written_out

__all__ = ["Assessor"]

EXAMPLE = "An example of such an assessment, to another question from other passages:"
AGAIN = (
    "Your last reply was not such an assessment. Write three lines only, which begin with "
    '"Complete:", "Correct:" and "Well cited:", each with yes or no directly behind the colon.'
)
TOKENS = 256
"""Longest assessment."""

_LABELS = ("Complete", "Correct", "Well cited")
_VERDICT = re.compile(
    r"^(?:[^\w\n]|\d)*(?:(complete(?:ness)?)|(correct(?:ness)?)"
    r"|((?:well|properly|rightly|correctly)\W+cited|citations?(?:\W+correct(?:ness)?)?))"
    r"\W*:\W*(?:(yes|true)|no|false)\b[^\w\n\[(\"“]*",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class Assessor(LLMNode):
    """Lets the model judge the answer's completeness, its correctness and its citations.

    The assessment of a refined answer is the one by which the paper decides whether the memory
    bank is updated. The prompts are `assessor` and, outside prose, `list_assessor`.
    """

    form: AnyForm = "prose"

    @property
    def prompt_name(self) -> str:
        """That of its form."""
        return "assessor" if self.form == "prose" else "list_assessor"

    async def __call__(self, state: ReflectionState) -> Update:
        """Add a round with the assessment of the answer as it is now.

        A reply that lacks one of the three verdicts is asked for once more; then the round has
        no feedback, which calls for no refinement and keeps the case out of the memory bank.
        """
        answer = written_out(state["claims"], self.form)
        number = len(state["rounds"]) + 1
        read = partial(read_assessment, number=number, answer=answer)
        found = await self.ask_again(self._prompt(state, answer), read, AGAIN, TOKENS)
        if found is None:
            note("assessor: no assessment could be read; the answer stands, and no case is kept")
        found = found or Reflection(number=number, answer=answer)
        return {"rounds": [*state["rounds"], found]}

    def _prompt(self, state: ReflectionState, answer: str) -> Prompt:
        passages = read_passages(state)
        task = fill(
            self.template(),
            demonstration=introduce(state.get("demonstration", ""), EXAMPLE),
            question=state["question"],
            answer=answer,
            numbers=", ".join(map(str, passages)),
        )
        return self.compose_prompt(state["question"], passages, task)


def read_assessment(reply: str, number: int, answer: str) -> Reflection | None:
    """The round that a reply makes; None where it lacks one of the three verdicts.

    What stands before the first verdict is left out, and of two verdicts in one respect the
    last counts.
    """
    found = list(_VERDICT.finditer(reply))
    edges = pairwise([*(match.start() for match in found), len(reply)])
    verdicts: dict[str, bool] = {}
    reasons: dict[str, str] = {}
    for match, (_, end) in zip(found, edges, strict=True):
        label = next(name for name, said in zip(_LABELS, match.groups(), strict=False) if said)
        verdicts[label] = bool(match[4])
        reasons[label] = " ".join(reply[match.end() : end].split()).rstrip(" *_#")
    if len(verdicts) < len(_LABELS):
        return None
    lines = (f"{x}: {'yes' if verdicts[x] else 'no'}. {reasons[x]}".strip() for x in _LABELS)
    complete, correct, cited = (verdicts[label] for label in _LABELS)
    return Reflection(
        number=number,
        answer=answer,
        feedback="\n".join(lines),
        complete=complete,
        correct=correct,
        cited=cited,
    )
