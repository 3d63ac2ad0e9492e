"""Assesses an answer by entailment alone: F without a language model (after R²-MGA, Assessment)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from citeproof.agents.base import Node
from citeproof.errors import VerifierOutageError
from citeproof.runtime.meter import note
from citeproof.state import Reflection, ReflectionState, Update, memory_passages
from citeproof.tools.citations.answer_text import AnyForm, written_out
from citeproof.tools.entailment import Entailment, Pair, pair
from citeproof.types import Claim, Passage

__all__ = ["Assess", "ClaimsAssessor"]

Assess = Literal["llm", "nli"]
"""The assessor of an answer: the language model, in three respects, or the entailment model, which
cannot say whether the answer is complete."""


@dataclass(frozen=True)
class ClaimsAssessor(Node):
    """Finds the sentences that no passage states, and those that cite the wrong ones.

    Small language models find fault with every answer, or with none; then this tells apart what
    the other assessor cannot.
    """

    entailment: Entailment
    form: AnyForm = "prose"
    """Names say nothing by themselves: outside prose they are checked behind the question."""

    async def __call__(self, state: ReflectionState) -> Update:
        """Add a round with the assessment; whether the answer is complete is left open.

        Where the entailment model's server does not answer, the round finds no fault.
        """
        claims, passages = state["claims"], memory_passages(state)
        try:
            states = await self._states(state["question"], claims, passages)
        except VerifierOutageError as error:
            note(f"the answer was not assessed: {error}")
            said = Reflection(
                number=len(state["rounds"]) + 1,
                answer=written_out(claims, "prose"),
                feedback="",
                complete=None,
                correct=True,
                cited=True,
            )
            return {"rounds": [*state["rounds"], said]}
        wrong = [f"No passage states this: {c.text}" for c in claims if states[c] == 0]
        moved = [
            f"[{found}] states this, {_instead(claim)}: {claim.text}"
            for claim in claims
            if (found := states[claim])
        ]
        lines = [
            _line("Correct", wrong, "The passages state every sentence."),
            _line("Well cited", moved, "Each sentence is stated by what it cites.", not wrong),
        ]
        assessment = Reflection(
            number=len(state["rounds"]) + 1,
            answer=written_out(claims, self.form),
            feedback="\n".join(filter(None, lines)),
            complete=None,
            correct=not wrong,
            cited=not (wrong or moved),
        )
        return {"rounds": [*state["rounds"], assessment]}

    async def _states(
        self, question: str, claims: list[Claim], passages: Mapping[int, Passage]
    ) -> dict[Claim, int | None]:
        """Claim → None if what it cites entails it, else a passage that does, or 0 for none."""

        def pair_of(numbers: list[int], claim: Claim) -> Pair:
            said = claim.text if self.form == "prose" else f"{question} {claim.text}"
            return pair(question, {n: passages[n] for n in numbers}, said)

        cited = {c: sorted({x.number for x in c.citations} & passages.keys()) for c in claims}
        pairs = {c: pair_of(cited[c], c) for c in claims if cited[c]}
        scores = dict(zip(pairs, await self._scores(list(pairs.values())), strict=True))
        left = [c for c in claims if scores.get(c, 0.0) < self.entailment.threshold]
        single = iter(await self._scores([pair_of([n], c) for c in left for n in passages]))
        states: dict[Claim, int | None] = dict.fromkeys(cited)
        for claim in left:
            best, number = max(((next(single), -n) for n in passages), default=(0.0, 0))
            states[claim] = -number if best >= self.entailment.threshold else 0
        return states

    async def _scores(self, pairs: list[Pair]) -> list[float]:
        return await self.entailment.scores(pairs) if pairs else []


def _instead(claim: Claim) -> str:
    cited = "".join(f"[{citation.number}]" for citation in claim.citations)
    return f"not {cited}" if cited else "yet nothing is cited"


def _line(label: str, faults: list[str], right: str, applies: bool = True) -> str:
    if not (faults or applies):
        return ""
    return f"{label}: no. {' '.join(faults)}" if faults else f"{label}: yes. {right}"
