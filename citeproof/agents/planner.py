"""Plans how to refine the answer, based on the feedback: T (R²-MGA, Planning & Action)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from citeproof.agents.base import LLMNode
from citeproof.prompts import Prompt, fill
from citeproof.runtime.meter import note
from citeproof.state import ReflectionState, Update, last_round, read_passages
from citeproof.tools.citations.answer_text import AnyForm, introduce

__all__ = ["Planner"]

MOST = 5
"""Maximum number of actions; further ones are left out."""
EXAMPLE = "An example of such a list, for another answer from other passages:"
AGAIN = "Your last reply held no list. Write a numbered list of actions only."
TOKENS = 256
"""Maximum length of the list, in tokens."""

_ITEM = re.compile(r"^[^\S\n]*(?:\d{1,2}[.):]|[-*•])\s+(\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Planner(LLMNode):
    """Turns the feedback of the last round into a list of actions."""

    form: AnyForm = "prose"

    async def __call__(self, state: ReflectionState) -> Update:
        """Add the actions to the last round.

        If a reply holds no list, the model is asked once more. If that fails too, or if the answer
        was not assessed, there are no actions, and the answer stays unchanged.
        """
        if not state["rounds"]:
            return {}
        actions = await self.ask_again(self._prompt(state), read_actions, AGAIN, TOKENS)
        if actions is None:
            note("planner: no actions could be read; the answer stands")
            return {}
        *earlier, last = state["rounds"]
        return {"rounds": [*earlier, last.model_copy(update={"actions": actions})]}

    def _prompt(self, state: ReflectionState) -> Prompt:
        passages = read_passages(state)
        last = last_round(state["rounds"])
        task = fill(
            self.template("planner"),
            demonstration=introduce(state.get("demonstration", ""), EXAMPLE),
            question=state["question"],
            answer=last.answer,
            feedback=last.feedback,
            most=MOST,
            item="sentence" if self.form == "prose" else "name",
            numbers=", ".join(map(str, passages)),
        )
        return self.compose_prompt(state["question"], passages, task)


def read_actions(reply: str) -> tuple[str, ...]:
    """The first `MOST` distinct items of a numbered or bulleted list, in order."""
    items = (" ".join(item.split()).strip("*_ ") for item in _ITEM.findall(reply))
    return tuple(dict.fromkeys(item for item in items if any(map(str.isalnum, item))))[:MOST]
