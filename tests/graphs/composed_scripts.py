"""A scripted run of the composed flow: what each role replies, what is found, what entails what."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from citeproof.graphs.composed import build_composed
from citeproof.state import ComposedResult
from tests.graphs.r2_mga_scripts import GOOD
from tests.graphs.scripts import BUILT, RoleScript

QUESTION = "Who built the tower, and when was it lit?"


def cite(*numbers: int) -> dict[str, list[int]]:
    """A reply of the citation generator."""
    return {"citations": list(numbers)}


class Script(RoleScript):
    """The passages suffice, and the only claim is proved and found good."""

    usual: ClassVar = {
        "judge": (),
        "question_rewriter": (),
        "retrieval_verifier": ("Yes",),
        "document_selector": (),
        "missing_info": (),
        "summarizer": (),
        "demonstrator": (),
        "claim_generator": (BUILT, "DONE"),
        "citation_generator": (cite(1),),
        "evidence_finder": (),
        "assessor": (GOOD,),
        "planner": (),
        "refiner": (),
    }

    @property
    def counts(self) -> dict[str, int]:
        """Role → number of its calls, without roles that were not called."""
        return {role: len(self.calls(role)) for role in self.usual if self.calls(role)}

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
