"""The records that nodes write into a state besides claims and passages."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from citeproof.types import Passage, Usage, Verdict


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Draft(_Record):
    """The current claim."""

    text: str
    cited: tuple[str, ...] = ()
    """Ids of the passages it cites."""
    verdict: Verdict | None = None
    """None until a verifier has checked the claim."""
    against: tuple[str, ...] = ()
    """Ids of passages that say otherwise."""
    decision: Literal["approve", "drop"] | None = None
    """A person's decision, if nothing supports the claim and a person was asked."""
    edited: bool = False
    """Whether a person wrote the text. It still has to be proved, but nothing may replace it."""


class Corroboration(_Record):
    """The verifier LM's view of one statement of the main LM (CaLM, section 4)."""

    statement: str
    """Without citation marks."""
    share: float = Field(ge=0.0, le=1.0)
    """Share of the statement that the verifier's answer says too."""
    by: str = ""
    """The verifier's statement that says the most of it; empty if none says any of it."""
    corroborated: bool
    """Whether the share is large enough and the statement has citations."""


class Contrast(_Record):
    """One round of CaLM: the two answers, and how far they agree."""

    number: int = Field(ge=1)
    rouge_2: float = Field(ge=0.0, le=1.0)
    """F1 of the two answers."""
    agreed: bool
    """Whether the main LM's answer is accepted."""
    answer: str
    """The main LM's answer, without citation marks."""
    verifier_answer: str
    """The verifier LM's answer, without citation marks; empty if it had nothing to read."""
    statements: tuple[Corroboration, ...]
    """One for each statement of the main LM's answer, in order."""


class SearchRound(_Record):
    """One query of a search that verifies its choice (LLatrieval, Algorithm 1)."""

    query: str
    found: int = Field(ge=0)
    """Number of passages that the retriever returned, at most N."""
    new: int = Field(ge=0)
    """Number of these that no earlier round had found."""
    sufficient: bool | None = None
    """The verifier's verdict on D; None if D could not have changed or was not verified."""
    score: float | None = Field(default=None, ge=0.0, le=10.0)
    """The verifier's score of D, if it gives scores."""


class Swap(_Record):
    """The change in D from one window of candidates (LLatrieval, section 3.2)."""

    round: int = Field(ge=1)
    entered: tuple[Passage, ...] = ()
    left: tuple[Passage, ...] = ()


class Retrieval(_Record):
    """The passages that LLatrieval chose for a question, and how it chose them."""

    verified: bool
    """Whether the verifier found that the passages suffice to answer the question."""
    reason: str
    """Why the search ended."""
    candidates: int = Field(ge=0)
    """Number of different passages read to choose from."""
    passages: tuple[Passage, ...]
    """D: the chosen passages, at most k."""
    rounds: tuple[SearchRound, ...]
    swaps: tuple[Swap, ...]
    """One for each window, in order."""


class Reflection(_Record):
    """One assessment of the answer, and the actions planned after it (R²-MGA).

    Passages have the run's numbers: their positions among the passages found, from 1.
    """

    number: int = Field(ge=1)
    answer: str
    """The assessed text, with its marks."""
    feedback: str = ""
    """F: a line for each verdict; empty if no assessment could be read."""
    complete: bool | None = False
    """Whether the answer covers the whole question; None if this was not assessed."""
    correct: bool = False
    """Whether the passages state everything that the answer says."""
    cited: bool = False
    """Whether the citations are correct."""
    actions: tuple[str, ...] = ()
    """T; empty if there was nothing to refine, or no round was left."""

    @property
    def faulty(self) -> bool:
        """Whether the assessment found that the answer needs a refinement."""
        right = self.complete is not False and self.correct and self.cited
        return bool(self.feedback) and not right


class NodeCost(_Record):
    """The cost of one call of a node, and its notes."""

    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    """Problems that were repaired."""


Ledger = dict[str, NodeCost]
"""Place of a node call (LangGraph's checkpoint namespace, which names the node, its task and the
subgraphs around them) → cost of the call."""
