"""A scripted R²-MGA run: what each role replies, what entails what, and an empty memory bank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from citeproof import Passage, Toolbox
from citeproof.graphs.r2_mga import build_r2_mga
from citeproof.memory.bank import Bank
from citeproof.settings import ChromaSettings
from citeproof.state import R2MGAResult
from citeproof.testing import Call, ListRetriever, ScriptedChatModel, TableEntailment
from tests.graphs.scripts import A, B, C
from tests.memory.fakes import WordEmbeddings

QUESTION = "Who built the tower, and when was it lit?"
ROLES = ("answerer", "assessor", "planner", "refiner", "demonstrator")
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
    """A memory bank in memory, whose vectors count words."""
    return Bank.open(ChromaSettings(in_memory=True), WordEmbeddings())


@dataclass
class Script:
    """Replies of each role, in order; a claim is entailed by a premise that holds its text."""

    answerer: Sequence[Any] = (FIRST,)
    assessor: Sequence[Any] = (BAD, GOOD)
    planner: Sequence[Any] = (PLAN,)
    refiner: Sequence[Any] = (f"Refined answer: {FINAL}",)
    demonstrator: Sequence[Any] = ()
    bank: Bank | None = None
    passages: Sequence[Passage] = (A, B, C)
    models: dict[str, ScriptedChatModel] = field(init=False)
    entailment: TableEntailment = field(init=False)

    def __post_init__(self) -> None:
        self.models = {role: ScriptedChatModel(getattr(self, role)) for role in ROLES}
        self.entailment = TableEntailment(lambda text, claim: 0.9 if claim in text else 0.1)

    def toolbox(self, **more: Any) -> Toolbox:
        """Tools in which any role but those of the script has nothing to say."""
        return Toolbox(
            ScriptedChatModel([]),
            retriever=ListRetriever(lambda _: list(self.passages)),
            entailment=self.entailment,
            roles=self.models,
            bank=self.bank,
            **more,
        )

    def calls(self, role: str) -> list[Call]:
        """The calls of a role, in order."""
        return self.models[role].calls

    @property
    def counts(self) -> tuple[int, ...]:
        """Calls of answerer, assessor, planner, refiner and demonstrator."""
        return tuple(len(self.calls(role)) for role in ROLES)

    async def run(self, question: str = QUESTION, **parameters: Any) -> R2MGAResult:
        """Invoke R²-MGA."""
        graph = build_r2_mga(self.toolbox(), **parameters)
        result: Any = await graph.ainvoke({"question": question})
        assert set(result) == {"question", "messages", "ledger", "answer", "rounds", "case_id"}
        return cast("R2MGAResult", result)
