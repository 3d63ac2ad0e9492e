"""A scripted run of the composed flow: what each role replies, what is found, what entails what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from citeproof import Passage, Toolbox
from citeproof.graphs.composed import build_composed
from citeproof.memory.bank import Bank
from citeproof.state import ComposedResult
from citeproof.testing import Call, ListRetriever, ScriptedChatModel, TableEntailment
from tests.graphs.r2_mga_scripts import GOOD
from tests.graphs.scripts import BUILT, A, B, C

QUESTION = "Who built the tower, and when was it lit?"
ROLES = (
    "question_rewriter",
    "retrieval_verifier",
    "document_selector",
    "missing_info",
    "summarizer",
    "demonstrator",
    "claim_generator",
    "citation_generator",
    "evidence_finder",
    "assessor",
    "planner",
    "refiner",
)


def cite(*numbers: int) -> dict[str, list[int]]:
    """A reply of the citation generator."""
    return {"citations": list(numbers)}


@dataclass
class Script:
    """Replies of each role, in order; a claim is entailed by a premise that holds its text."""

    question_rewriter: Sequence[Any] = ()
    retrieval_verifier: Sequence[Any] = ("Yes",)
    document_selector: Sequence[Any] = ()
    missing_info: Sequence[Any] = ()
    summarizer: Sequence[Any] = ()
    demonstrator: Sequence[Any] = ()
    claim_generator: Sequence[Any] = (BUILT, "DONE")
    citation_generator: Sequence[Any] = (cite(1),)
    evidence_finder: Sequence[Any] = ()
    assessor: Sequence[Any] = (GOOD,)
    planner: Sequence[Any] = ()
    refiner: Sequence[Any] = ()
    bank: Bank | None = None
    passages: Mapping[str, Sequence[Passage]] = field(default_factory=lambda: {"": [A, B, C]})
    """Part of the query → what the retriever finds; the longest part that fits."""
    models: dict[str, ScriptedChatModel] = field(init=False)
    retriever: ListRetriever = field(init=False)
    entailment: TableEntailment = field(init=False)

    def __post_init__(self) -> None:
        self.models = {role: ScriptedChatModel(getattr(self, role)) for role in ROLES}
        self.retriever = ListRetriever(self._found)
        self.entailment = TableEntailment(lambda text, claim: 0.9 if claim in text else 0.1)

    def _found(self, query: str) -> Sequence[Passage]:
        keys = [key for key in self.passages if key in query]
        return self.passages[max(keys, key=len)] if keys else []

    def toolbox(self, **more: Any) -> Toolbox:
        """Tools in which any role but those of the script has nothing to say."""
        return Toolbox(
            ScriptedChatModel([]),
            **{
                "retriever": self.retriever,
                "entailment": self.entailment,
                "roles": self.models,
                "bank": self.bank,
                **more,
            },
        )

    def calls(self, role: str) -> list[Call]:
        """The calls of a role, in order."""
        return self.models[role].calls

    @property
    def counts(self) -> dict[str, int]:
        """Role → its calls, without the roles that were not asked."""
        return {role: len(self.calls(role)) for role in ROLES if self.calls(role)}

    async def run(self, question: str = QUESTION, **parameters: Any) -> ComposedResult:
        """Invoke the composed flow; the language model assesses unless told otherwise."""
        graph = build_composed(self.toolbox(), **{"assess": "llm", **parameters})
        result: Any = await graph.ainvoke({"question": question})
        assert set(result) == {
            "question",
            "messages",
            "ledger",
            "answer",
            "rounds",
            "case_id",
            "retrieval",
        }
        return cast("ComposedResult", result)
