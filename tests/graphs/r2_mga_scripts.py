"""A scripted R²-MGA run: what each role replies, what entails what, and an empty memory bank."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from citeproof.graphs.r2_mga import build_r2_mga
from citeproof.memory.bank import Bank
from citeproof.settings import ChromaSettings
from citeproof.state import R2MGAResult
from tests.graphs.scripts import RoleScript
from tests.memory.fakes import WordEmbeddings

QUESTION = "Who built the tower, and when was it lit?"
FIRST = "Ann Lee built the tower [3]."
FINAL = "Ann Lee built the tower [1]. The tower was lit in 1871 [2]."
GOOD = "Complete: yes. All is said.\nCorrect: yes. [1] and [2] state it.\nWell cited: yes."
BAD = (
    "Complete: no. It does not say when the tower was lit [2].\nCorrect: yes. [1] states it.\n"
    "Well cited: no. [3] does not name Ann Lee."
)
PLAN = "1. Cite [1] in the first sentence.\n2. Add that the tower was lit in 1871 [2]."
ACTIONS = ("Cite [1] in the first sentence.", "Add that the tower was lit in 1871 [2].")
WHY = "Each part of the question has a sentence of its own."


def empty_bank() -> Bank:
    """An empty in-memory memory bank, whose vectors count words."""
    return Bank.open(ChromaSettings(in_memory=True), WordEmbeddings())


class Script(RoleScript):
    """The first answer is found faulty, refined once, and then found good."""

    usual: ClassVar = {
        "answerer": (FIRST,),
        "assessor": (BAD, GOOD),
        "planner": (PLAN,),
        "refiner": (f"Refined answer: {FINAL}",),
        "demonstrator": (),
    }

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of calls of answerer, assessor, planner, refiner and demonstrator."""
        return tuple(len(self.calls(role)) for role in self.usual)

    async def run(self, question: str = QUESTION, **parameters: Any) -> R2MGAResult:
        """Invoke R²-MGA."""
        graph = build_r2_mga(self.toolbox(), **parameters)
        result: Any = await graph.ainvoke({"question": question})
        assert set(result) == {"question", "messages", "ledger", "answer", "rounds", "case_id"}
        return cast("R2MGAResult", result)
