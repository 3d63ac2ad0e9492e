"""Assesses the answer: F (R²-MGA, Assessment, and the update of the memory).

`Assessor` asks a language model about three aspects; `ClaimsAssessor` needs only an entailment
model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal

from citeproof.agents.base import LLMNode, Node
from citeproof.errors import VerifierOutageError
from citeproof.prompts import fill
from citeproof.runtime.meter import note
from citeproof.state import Reflection, ReflectionState, Update, memory_passages, read_passages
from citeproof.tools.citations.answer_text import AnyForm, introduce, written_out
from citeproof.tools.entailment import Entailment, Pair, pair
from citeproof.types import Claim, Passage

__all__ = ["Assess", "Assessor", "ClaimsAssessor"]

EXAMPLE = "An example of such an assessment, to another question from other passages:"
AGAIN = (
    "Your last reply was not such an assessment. Write three lines only, which begin with "
    '"Complete:", "Correct:" and "Well cited:", each with yes or no directly behind the colon.'
)
TOKENS = 256
"""Maximum length of an assessment, in tokens."""

_LABELS = ("Complete", "Correct", "Well cited")
_VERDICT = re.compile(
    r"^(?:[^\w\n]|\d)*(?:(complete(?:ness)?)|(correct(?:ness)?)"
    r"|((?:well|properly|rightly|correctly)\W+cited|citations?(?:\W+correct(?:ness)?)?))"
    r"\W*:\W*(?:(yes|true)|no|false)\b[^\w\n\[(\"“]*",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class Assessor(LLMNode):
    """Lets the model judge the answer's completeness, correctness and citations.

    In the paper, the assessment of the refined answer decides whether the memory bank is updated.
    The prompts are `assessor` and, outside prose, `list_assessor`.
    """

    form: AnyForm = "prose"

    @property
    def prompt_name(self) -> str:
        """The prompt of its form."""
        return "assessor" if self.form == "prose" else "list_assessor"

    async def __call__(self, state: ReflectionState) -> Update:
        """Add a round with the assessment of the current answer.

        If a reply lacks one of the three verdicts, the model is asked once more. If that fails
        too, the round has no feedback: the answer is not refined, and no case is kept.
        """
        answer = written_out(state["claims"], self.form)
        number = len(state["rounds"]) + 1
        read = partial(read_assessment, number=number, answer=answer)
        passages = read_passages(state)
        task = fill(
            self.template(),
            demonstration=introduce(state.get("demonstration", ""), EXAMPLE),
            question=state["question"],
            answer=answer,
            numbers=", ".join(map(str, passages)),
        )
        prompt = self.compose_prompt(state["question"], passages, task)
        found = await self.ask_again(prompt, read, AGAIN, TOKENS)
        if found is None:
            note("assessor: no assessment could be read; the answer stands, and no case is kept")
        found = found or Reflection(number=number, answer=answer)
        return {"rounds": [*state["rounds"], found]}


def read_assessment(reply: str, number: int, answer: str) -> Reflection | None:
    """The round read from a reply; None if the reply lacks one of the three verdicts.

    Text before the first verdict is ignored. If an aspect has several verdicts, the last counts.
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


Assess = Literal["llm", "nli"]
"""The assessor of an answer: the language model, for all three aspects, or the entailment model,
which cannot tell whether the answer is complete."""


@dataclass(frozen=True)
class ClaimsAssessor(Node):
    """Finds sentences that no passage states, and sentences that cite the wrong passages.

    For small language models, which find fault with every answer or with none.
    """

    entailment: Entailment
    form: AnyForm = "prose"
    """Outside prose, claims are checked together with the question, as names state nothing by
    themselves."""

    async def __call__(self, state: ReflectionState) -> Update:
        """Add a round with the assessment, which leaves open whether the answer is complete.

        If the entailment model's server does not answer, the round finds no fault.
        """
        claims, passages = state["claims"], memory_passages(state)
        wrong, moved, lines = list[str](), list[str](), list[str]()
        try:
            states = await self._states(state["question"], claims, passages)
        except VerifierOutageError as error:
            note(f"the answer was not assessed: {error}")
        else:
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
        """Claim → None if its citations entail it, else the number of a passage that does, or 0."""

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
