"""Carries out the planned actions on the answer: A* (R²-MGA, Planning & Action).

`Refiner` rewrites the answer. In the composed flow, `DraftRefiner` turns the result into a draft,
which is proved too, and `RefinementSelector` keeps the better answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from citeproof.agents.base import LLMNode, Node
from citeproof.agents.claim_acceptor import APPROVED
from citeproof.prompts import fill
from citeproof.runtime.meter import note
from citeproof.state import (
    RefiningState,
    ReflectionState,
    Update,
    count_proved,
    memory_passages,
    proved_share,
    read_passages,
)
from citeproof.tools.citations.answer_text import (
    AnyForm,
    citing_instruction,
    read_claims,
    written_out,
)
from citeproof.tools.citations.cited_json import is_answer_json
from citeproof.types import Claim

__all__ = ["DraftRefiner", "Execution", "RefinementSelector", "Refiner"]

Execution = Literal["one-time", "step-by-step"]
"""All actions in one call, or one call per action (the paper's two paradigms)."""
HEADING = ' after the words "Refined answer:", and nothing behind it'
AGAIN = (
    "Your last reply held no refined answer with citations. Write the whole of it, as you were "
    "told above, and nothing else."
)

SHAPES = {
    "list": "It is a list of names with commas between them; directly after each stands the number "
    "of the one passage that states it, in square brackets.",
    "short": "It is a single name, number, date or short phrase; directly after it stand, in "
    "square brackets, the numbers of one to three passages that state it.",
}

_HEADING = re.compile(r"\b(?:refined|corrected|final)\s+answer\b\W*?:[ \t*_]*", re.IGNORECASE)


@dataclass(frozen=True)
class Refiner(LLMNode):
    """Rewrites the answer as the actions of the last round demand."""

    execution: Execution = "one-time"
    answer_tokens: int = 300
    """Maximum length of the answer, in tokens."""
    form: AnyForm = "prose"

    @property
    def prompt_name(self) -> str:
        """The prompt of its form."""
        return "refiner" if self.form == "prose" else "list_refiner"

    async def __call__(self, state: ReflectionState) -> Update:
        """Replace the answer by the refined one.

        Citations of unknown passages are dropped. If a reply has no answer, or has lost all
        citations, the model is asked once more. The old answer stands if that fails too, if no
        action is planned, or if there is no passage to cite.
        """
        claims = state["claims"]
        actions = state["rounds"][-1].actions if state["rounds"] else ()
        if not (actions and memory_passages(state)):
            return {"claims": claims}
        steps = [actions] if self.execution == "one-time" else [(action,) for action in actions]
        for step in steps:
            claims = await self._refine(state, claims, step)
        return {"claims": claims}

    async def _refine(
        self, state: ReflectionState, claims: list[Claim], actions: Sequence[str]
    ) -> list[Claim]:
        passages, shown = memory_passages(state), read_passages(state)
        words, schema = citing_instruction(self.llm, passages)
        how = {"citing": words, "heading": "" if schema else HEADING}
        if self.form != "prose":
            numbers = ", ".join(map(str, passages))
            schema, how = None, {"shape": SHAPES[self.form], "numbers": numbers}
        task = fill(
            self.template(),
            question=state["question"],
            answer=written_out(claims, self.form),
            actions="\n".join(f"{n}. {action}" for n, action in enumerate(actions, start=1)),
            **how,
        )

        def read(reply: str) -> list[Claim]:
            written = reply if is_answer_json(reply) else _HEADING.split(reply)[-1]
            refined = read_claims(written, passages, self.form)
            return refined if _cites(refined) or not _cites(claims) else []

        prompt = self.compose_prompt(state["question"], shown, task, schema)
        refined = await self.ask_again(prompt, read, AGAIN, self.answer_tokens)
        if refined is None:
            note("refiner: no refined answer could be read; the previous answer stands")
        return refined or claims


def _cites(claims: Sequence[Claim]) -> bool:
    return any(claim.citations for claim in claims)


@dataclass(frozen=True)
class DraftRefiner(LLMNode):
    """Refines a proved answer into a draft, which VTG's verifiers then prove."""

    execution: Execution = "one-time"
    answer_tokens: int = 300
    """Maximum length of the answer, in tokens."""
    max_claims: int = 6
    """Maximum number of sentences in the refinement; further ones are left out."""

    @property
    def prompt_name(self) -> str:
        """The refiner's prompt."""
        return "refiner"

    async def __call__(self, state: RefiningState) -> Update:
        """Hand the refined claims to the proof, and keep the current ones as `first`.

        A refinement that changes nothing sets nothing.
        """
        refine = Refiner(self.llm, self.execution, self.answer_tokens, prompts=self.prompts)
        given = (await refine(state))["claims"][: self.max_claims]
        if written_out(given, "prose") == written_out(state["claims"], "prose"):
            return {}
        return {
            "first": state["claims"],
            "first_dropped": state["dropped"],
            "given": given,
            "claims": [],
            "rejected": [],
            "dropped": [],
        }


@dataclass(frozen=True)
class RefinementSelector(Node):
    """Ends a refinement: keeps its claims, unless more of the previous answer was proved."""

    async def __call__(self, state: RefiningState) -> Update:
        """Restore the first claims if the proof of the others was cut short or proved less."""
        if not state["given"]:
            return {}
        first, dropped = state["first"], state["first_dropped"]
        done = len(state["claims"]) + len(state["dropped"]) >= len(state["given"])
        approved = any(claim.verdict.reason == APPROVED for claim in state["claims"])
        as_well = proved_share(state["claims"], state["dropped"]) >= proved_share(first, dropped)
        # A refinement that lost proved sentences may still have a greater proved share.
        if done and (
            approved or (as_well and count_proved(state["claims"]) >= count_proved(first))
        ):
            return {}
        note("the refined answer was not proved as well; the previous one stands")
        return {"claims": first, "dropped": dropped}
