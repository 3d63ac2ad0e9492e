"""Keeps the proved answer of any graph as a case, for others to learn from."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import TypedDict  # pydantic refuses that of typing before 3.12

from citeproof.agents.case_keeper import added
from citeproof.agents.claims_keeper import share
from citeproof.agents.form_answerer import written_out
from citeproof.memory.bank import Bank, Case
from citeproof.state import KeptUpdate
from citeproof.tools.meter import Meter, metered
from citeproof.types import Answer

__all__ = ["AnswerKeeper"]

PROVED = (
    "Complete: yes.\n"
    "Correct: yes. An entailment model finds that the passages state each sentence.\n"
    "Well cited: yes. Each sentence follows from the passages that it cites."
)
"""What is kept as the feedback on an answer that nobody has assessed in words."""


class AnswerState(TypedDict):
    """What the keeper reads."""

    answer: Answer


@dataclass(frozen=True)
class AnswerKeeper:
    """Adds a case of question, cited passages and answer, if nothing of it is in doubt."""

    bank: Bank
    namespace: str = ""
    """Part of the bank that the case is added to; empty for the bank's own."""

    async def __call__(self, state: AnswerState) -> KeptUpdate:
        """Set the id of the case; empty where none is kept, also where the bank fails.

        An answer that is partial is no example, even if all that is left of it is supported.
        """
        answer = state["answer"]
        score = share(answer.claims)
        if answer.status != "answered" or score < 1.0:
            return {"answer": answer}
        text = written_out(answer.claims, "prose")
        case = Case(
            question=answer.question,
            passages=answer.passages,
            answer=text,
            feedback=PROVED,
            final=text,
            method=answer.method,
            score=score,
        )
        with metered(Meter()) as meter:  # an answer that is there gets no more of the run's notes
            case_id = await added(self.bank, self.namespace, case)
        notes = (*answer.notes, *meter.notes)
        return {"case_id": case_id, "answer": answer.model_copy(update={"notes": notes})}
