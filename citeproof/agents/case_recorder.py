"""Keeps a finished case in the memory bank if it can serve as an example (R²-MGA, update)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NotRequired

from citeproof.agents.base import Node
from citeproof.memory.bank import UNUSABLE, Bank, Case
from citeproof.runtime.meter import note
from citeproof.runtime.place import adopt_cost, current_place
from citeproof.state import Reflection, Update, WritingState, in_short, proved_share
from citeproof.tools.citations.answer_text import AnyForm, written_out
from citeproof.tools.entailment import Entailment
from citeproof.tools.questions.answering import UNCHECKED, find_answered
from citeproof.tools.questions.parts import question_parts
from citeproof.types import Answer, Claim

__all__ = ["CaseRecorder", "Gate"]

Gate = Literal["llm", "nli", "both"]
"""The judge that decides whether a final answer becomes a case: the language model's assessment
(the paper), the entailment model, or both."""
PROVED = (
    "Complete: yes.\n"
    "Correct: yes. An entailment model finds that the passages state each sentence.\n"
    "Well cited: yes. Each sentence follows from the passages that it cites."
)
"""The feedback of a case whose answer has no assessment in words."""


class CaseState(WritingState):
    """The keys that the recorder reads."""

    rounds: NotRequired[list[Reflection]]
    short_forms: NotRequired[dict[str, str]]
    answer: Answer | None


@dataclass(frozen=True)
class CaseRecorder(Node):
    """Adds the case of a run if its final answer passes the gate.

    A draft for another graph is not kept.
    """

    bank: Bank | None = None
    namespace: str = ""
    """Part of the bank to add the case to; if empty, the bank's own."""
    gate: Gate = "both"
    least_score: float = 1.0
    """Least share of supported claims at which the entailment model accepts the answer."""
    unverified: Literal["keep", "flag", "drop"] = "flag"
    """What to do with unsupported claims; dropped ones are not part of the case."""
    remember: bool = True
    """False leaves the bank unchanged."""
    method: str = "r2-mga"
    form: AnyForm = "prose"
    answerability: Entailment | None = None
    """Decides whether the claims answer the question; without it, they do."""
    check_answer: bool = True

    async def __call__(self, state: CaseState) -> Update:
        """Add the case if it passes the gate, and set its id, which is empty if none was kept.

        The case of a run that assesses its answers holds the first round and the final answer; a
        run without feedback leaves no case, nor does one whose claims leave a part of the question
        unanswered. Any other run leaves its answer as a case if it is complete and every claim is
        supported. If the bank or a model fails, the case is lost, not the answer.
        """
        if self.bank is None or not self.remember:
            return {}
        answer = state["answer"]
        if answer is not None:
            adopt_cost(answer, state.get("ledger") or {})
            case = _case_of_answer(answer)
            return {"case_id": await self._add(case) if case else "", "answer": answer}
        if current_place().drafts:
            return {"case_id": ""}
        case = self._case_of_rounds(state, state.get("rounds", []))
        return {"case_id": await self._add(case)} if case and await self._answers(state) else {}

    def _case_of_rounds(self, state: CaseState, rounds: Sequence[Reflection]) -> Case | None:
        """The first answer, its feedback and actions, and the final answer.

        Actions that did not change the answer are left out.
        """
        if not (rounds and rounds[0].feedback):
            return None
        score = None if self.gate == "llm" else proved_share(state["claims"], state["dropped"])
        if not self._passes(state, rounds[-1], score):
            return None
        first, final = rounds[0], written_out(self._shown(state), self.form)
        if not (first.answer.strip() and final.strip()):
            return None
        return Case(
            question=state["question"],
            passages=tuple(in_short(p, state.get("short_forms") or {}) for p in state["passages"]),
            answer=first.answer,
            feedback=first.feedback,
            actions=first.actions if final != first.answer else (),
            final=final,
            method=self.method,
            form=self.form,
            score=score,
        )

    def _passes(self, state: CaseState, last: Reflection, score: float | None) -> bool:
        if score is not None and score < self.least_score:
            return False
        if last.answer == written_out(state["claims"], self.form):
            # A case kept as correct must not carry feedback that finds fault: it would teach the
            # next assessment to do the same.
            return last.correct and last.cited
        # The last assessment was of the previous answer and says nothing about the final one.
        return self.gate == "nli"

    def _shown(self, state: CaseState) -> list[Claim]:
        drops = self.unverified == "drop"
        return [claim for claim in state["claims"] if not (drops and claim.verdict.failed)]

    async def _answers(self, state: CaseState) -> bool:
        """Whether proved claims answer every part of the question, by the composer's rule."""
        if self.answerability is None or not self.check_answer or self.form != "prose":
            return True
        parts = question_parts(state["question"])
        by_id = {passage.id: passage for passage in state["passages"]}
        try:
            found = await find_answered(self.answerability, parts, self._shown(state), by_id)
        except UNCHECKED as error:
            note(f"the case was not kept in the memory bank: {error}")
            return False
        return all(found.proved)

    async def _add(self, case: Case) -> str:
        if self.bank is None or current_place().drafts:
            return ""
        bank = self.bank.within(self.namespace) if self.namespace else self.bank
        try:
            return await bank.add(case)
        except UNUSABLE as error:
            note(f"the case was not kept in the memory bank: {error}")
            return ""


def _case_of_answer(answer: Answer) -> Case | None:
    """The case of a proved answer; None for any other.

    A partial answer is no case, even if all its remaining claims are supported.
    """
    score = proved_share(answer.claims)
    if answer.status != "answered" or score < 1.0:
        return None
    text = written_out(answer.claims, "prose")
    return Case(
        question=answer.question,
        passages=answer.passages,
        answer=text,
        feedback=PROVED,
        final=text,
        method=answer.method,
        score=score,
    )
