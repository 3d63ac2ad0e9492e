"""What nodes write into a state besides claims and passages."""

from __future__ import annotations

from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from citeproof.types import Passage, Usage, Verdict

T = TypeVar("T")


class Draft(BaseModel):
    """The claim now in hand."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    cited: tuple[str, ...] = ()
    """Ids of the passages it cites."""
    verdict: Verdict | None = None
    """None until a verifier has looked at it."""
    against: tuple[str, ...] = ()
    """Ids of passages that say otherwise."""
    decision: Literal["approve", "drop"] | None = None
    """The decision of a person, where nothing supports it and one was asked."""


class Corroboration(BaseModel):
    """The verifier LM's view of one statement of the main LM (CaLM, section 4)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    statement: str
    """Without citation marks."""
    share: float = Field(ge=0.0, le=1.0)
    """How much of the statement the verifier's answer says as well."""
    by: str = ""
    """The verifier's statement that says the most of it; empty where none says anything of it."""
    corroborated: bool
    """Whether the share is enough, and the statement cites something."""


class Contrast(BaseModel):
    """One round of CaLM: the two answers, and how far they agree."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int = Field(ge=1)
    rouge_2: float = Field(ge=0.0, le=1.0)
    """F1 of the two answers."""
    agreed: bool
    """Whether the main LM's answer is accepted."""
    answer: str
    """The main LM's answer, without citation marks."""
    verifier_answer: str
    """The verifier LM's answer, without citation marks; empty where it had nothing to read."""
    statements: tuple[Corroboration, ...]
    """One for each statement of the main LM's answer, in order."""


class SearchRound(BaseModel):
    """One query of a search that verifies what it has chosen (LLatrieval, Algorithm 1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str
    found: int = Field(ge=0)
    """N or fewer: passages that the retriever gave."""
    new: int = Field(ge=0)
    """Those of them that no earlier round had found."""
    sufficient: bool | None = None
    """The verifier's verdict on D; None where D could not have changed, or nobody asked."""
    score: float | None = Field(default=None, ge=0.0, le=10.0)
    """The verifier's score of D, where it gives scores."""


class Swap(BaseModel):
    """The change in D by one window of candidates (LLatrieval, section 3.2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    round: int = Field(ge=1)
    entered: tuple[Passage, ...] = ()
    left: tuple[Passage, ...] = ()


class Retrieval(BaseModel):
    """The passages that LLatrieval has chosen for a question, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    verified: bool
    """Whether the verifier found that the passages suffice to answer the question."""
    reason: str
    """Why the search stopped."""
    candidates: int = Field(ge=0)
    """Different passages that were read, to choose from."""
    passages: tuple[Passage, ...]
    """D: the chosen passages, k or fewer."""
    rounds: tuple[SearchRound, ...]
    swaps: tuple[Swap, ...]
    """One for each window, in order."""


class Reflection(BaseModel):
    """One assessment of the answer, and what was planned upon it (R²-MGA).

    Passages bear the run's numbers: their places among the passages that were found, from 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int = Field(ge=1)
    answer: str
    """The assessed text, with its marks."""
    feedback: str = ""
    """F: a line for each verdict; empty where no assessment could be read."""
    complete: bool | None = False
    """Whether it says all that is asked; None where that was not assessed."""
    correct: bool = False
    """Whether it says nothing but what the passages state."""
    cited: bool = False
    """Whether its citations are right."""
    actions: tuple[str, ...] = ()
    """T; empty where nothing was to be refined, or no round was left."""

    @property
    def faulty(self) -> bool:
        """Whether the answer was found to need a refinement."""
        right = self.complete is not False and self.correct and self.cited
        return bool(self.feedback) and not right


class NodeCost(BaseModel):
    """The cost of one call of a node, and its notes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    """Problems that were repaired."""


Ledger = dict[str, NodeCost]
"""Where a node was called (LangGraph's checkpoint namespace, which names node and task, and the
subgraphs that they are in) → what that call has cost."""
