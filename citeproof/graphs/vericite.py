"""VeriCite: statements of a draft and of single passages are verified, and the answer made of them.

Qian et al., "VeriCite: Towards Reliable Citations in Retrieval-Augmented Generation via Rigorous
Verification" (arXiv 2510.11394): initial answer generation, supporting evidence selection, final
answer refinement.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, Unpack

from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.answerer import Answerer
from citeproof.agents.claims_verifier import EvidenceSelector
from citeproof.agents.grounded_answerer import GroundedAnswerer
from citeproof.agents.summarizer import Summarizer
from citeproof.graphs.options import VeriCiteOptions
from citeproof.graphs.reading import ReadingParameters, Step, build_steps, check_step, reading_steps
from citeproof.state import GroundingState, QuestionInput, Result
from citeproof.tools.toolbox import Toolbox

__all__ = ["VeriCiteParameters", "build_vericite"]

Graph: TypeAlias = CompiledStateGraph[GroundingState, Any, QuestionInput, Result]


class VeriCiteParameters(ReadingParameters):
    """The parameters of VeriCite."""

    statements: Literal["both", "draft", "evidence"] = "both"
    """Where the verified statements come from: from a draft over all passages, from each passage
    by itself, or from both (the others leave out a stage)."""
    refine: bool = True
    """False gives the verified statements as they are, without the last stage."""
    prove: bool = True
    """Checks the refined sentences by entailment; the paper checks only those before refinement."""
    shots: int = Field(default=2, ge=0, le=2)
    """Examples that the model is shown when it drafts."""
    answer_tokens: int = Field(default=300, ge=16, le=4000)
    """Longest draft, and longest answer."""
    summary_tokens: int = Field(default=100, ge=16, le=1000)
    """Longest evidence of one passage."""
    at_once: int = Field(default=8, ge=1, le=256)
    """Most passages that are read at a time."""


def build_vericite(tools: Toolbox, **options: Unpack[VeriCiteOptions]) -> Graph:
    """The compiled graph of VeriCite.

    Draft and answer have the role `answerer`, the evidence of single passages `summarizer`. For
    arguments and errors see `build_vtg`; the parameters are fields of `VeriCiteParameters`.
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
