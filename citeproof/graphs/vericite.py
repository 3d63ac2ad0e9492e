"""VeriCite: verifies statements from a draft and from single passages, and answers with them.

Qian et al., "VeriCite: Towards Reliable Citations in Retrieval-Augmented Generation via Rigorous
Verification" (arXiv 2510.11394): initial answer generation, supporting evidence selection, final
answer refinement.
"""

from __future__ import annotations

from typing import Literal, Unpack

from pydantic import Field

from citeproof.agents.answerer import Answerer, GroundedAnswerer
from citeproof.agents.claims_verifier import EvidenceSelector
from citeproof.agents.summarizer import Summarizer
from citeproof.graphs.options import VeriCiteOptions
from citeproof.graphs.reading import (
    Graph,
    ReadingParameters,
    Step,
    build_steps,
    check_step,
    reading_steps,
)
from citeproof.state import GroundingState
from citeproof.tools.toolbox import Toolbox

__all__ = ["VeriCiteParameters", "build_vericite"]


class VeriCiteParameters(ReadingParameters):
    """The parameters of VeriCite."""

    statements: Literal["both", "draft", "evidence"] = "both"
    """Source of the verified statements: a draft from all passages (`draft`), each passage by
    itself (`evidence`), or both. The first two leave out a stage."""
    refine: bool = True
    """False skips the last stage and returns the verified statements."""
    prove: bool = True
    """True checks the refined sentences by entailment; the paper checks only the statements before
    refinement."""
    shots: int = Field(default=2, ge=0, le=2)
    """Number of examples shown to the model when it drafts."""
    answer_tokens: int = Field(default=300, ge=16, le=4000)
    """Maximum length of the draft and of the answer, in tokens."""
    summary_tokens: int = Field(default=100, ge=16, le=1000)
    """Maximum length of the evidence from one passage, in tokens."""
    at_once: int = Field(default=8, ge=1, le=256)
    """Maximum number of passages read concurrently."""


def build_vericite(tools: Toolbox, **options: Unpack[VeriCiteOptions]) -> Graph:
    """The compiled graph of VeriCite.

    The model that writes draft and answer has the role `answerer`, the one that extracts evidence
    from single passages the role `summarizer`. For arguments and errors, see `build_vtg`; the
    parameters are fields of `VeriCiteParameters`.
    """
    writer = tools.llm_for("answerer")
    reader = Summarizer(tools.llm_for("summarizer"), style="evidence")
    steps = [
        *reading_steps(tools),
        Step("answerer", Answerer(writer), lambda _, own: own.statements != "evidence"),
        Step("summarizer", reader, lambda _, own: own.statements != "draft", instead=True),
        Step("evidence_selector", EvidenceSelector(tools.entailment)),
        Step("grounded_answerer", GroundedAnswerer(writer), _refines, else_end=True),
        check_step(tools),
    ]
    return build_steps(tools, "vericite", VeriCiteParameters, GroundingState, steps, options)


def _refines(state: GroundingState, parameters: VeriCiteParameters) -> bool:
    return bool(state["kept"]) and parameters.refine
