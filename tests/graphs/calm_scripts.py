"""A scripted CaLM run: what the two models reply, in order."""

from __future__ import annotations

from typing import Any, ClassVar

from citeproof import Answer, Passage
from citeproof.graphs.calm import build_calm
from citeproof.state import Contrast
from tests.graphs.scripts import RoleScript

POOL = [Passage(id=f"p{n}", title=f"T{n}", text=f"Fact {n} is told here.") for n in range(1, 10)]
"""Passages 1 to 9 of the pool; `told(n)` is the statement of passage n."""


def told(*numbers: int) -> str:
    """An answer that repeats and cites some passages word for word, so that it agrees."""
    return " ".join(f"Fact {n} is told here [{n}]." for n in numbers)


WRONG = "Nobody ever wrote anything like that down [1]."
"""An answer that shares nothing with any other."""


class Script(RoleScript):
    """The main LM (`answerer`) and the verifier LM, over nine passages, without proving."""

    usual: ClassVar = {"answerer": (), "verifier_lm": ()}
    found: ClassVar = {"": POOL}

    @property
    def counts(self) -> tuple[int, int]:
        """Calls of the main LM and of the verifier LM."""
        return len(self.calls("answerer")), len(self.calls("verifier_lm"))

    def shown(self, role: str) -> list[list[int]]:
        """The numbers of the passages shown to each call of a role."""
        return [
            [n for n in range(1, 100) if f'<passage number="{n}"' in call.prompt]
            for call in self.calls(role)
        ]

    def run(self, **parameters: Any) -> tuple[Answer, list[Contrast]]:
        """Invoke CaLM, by default with three passages at a time."""
        graph = build_calm(self.toolbox(entailment=None), **{"k": 3, "prove": False, **parameters})
        result = graph.invoke({"question": "What is told?"})
        assert set(result) == {"question", "messages", "ledger", "answer", "rounds"}
        return result["answer"], result["rounds"]
