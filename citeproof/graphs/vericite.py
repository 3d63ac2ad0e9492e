"""VeriCite: statements of a draft and of single passages are verified, and the answer made of them.

Qian et al., "VeriCite: Towards Reliable Citations in Retrieval-Augmented Generation via Rigorous
Verification" (arXiv 2510.11394): initial answer generation, supporting evidence selection, final
answer refinement.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, Unpack

from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.answer_composer import AnswerComposer
from citeproof.agents.answerer import Answerer
from citeproof.agents.claims_verifier import ClaimsVerifier
from citeproof.agents.evidence_selector import EvidenceSelector
from citeproof.agents.grounded_answerer import GroundedAnswerer
from citeproof.agents.summarizer import Summarizer
from citeproof.graphs.options import VeriCiteOptions
from citeproof.graphs.reading import END_NODE, ReadingParameters, add_reading
from citeproof.graphs.wiring import Insertions, MethodBuilder
from citeproof.parameters import override_defaults
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
    """Checks the refined sentences by entailment; the paper checks those before them only."""
    shots: int = Field(default=2, ge=0, le=2)
    """Examples that the model is shown when it drafts."""
    answer_tokens: int = Field(default=300, ge=16, le=4000)
    """Longest draft, and longest answer."""
    summary_tokens: int = Field(default=100, ge=16, le=1000)
    """Longest evidence of one passage."""
    at_once: int = Field(default=8, ge=1, le=256)
    """Most passages that are read at a time."""


def build_vericite(
    tools: Toolbox,
    *,
    checkpointer: Any = None,
    name: str = "vericite",
    insert_after: Insertions | None = None,
    **parameters: Unpack[VeriCiteOptions],
) -> Graph:
    """The compiled graph of VeriCite.

    Draft and answer have the role `answerer`, the evidence of single passages `summarizer`. For
    arguments and errors see `build_vtg`; the parameters are fields of `VeriCiteParameters`.
    """
    schema = override_defaults(VeriCiteParameters, parameters, tools.budget)
    writer = tools.llm_for("answerer")
    builder = MethodBuilder(
        tools, schema, GroundingState, Result, end=END_NODE, insert_after=insert_after
    )
    builder.add_nodes(
        {
            "answerer": Answerer(writer),
            "summarizer": Summarizer(tools.llm_for("summarizer"), style="evidence"),
            "evidence_selector": EvidenceSelector(tools.entailment),
            "grounded_answerer": GroundedAnswerer(writer),
            "claims_verifier": ClaimsVerifier(tools.entailment),
            END_NODE: AnswerComposer(
                "vericite",
                "keep",
                answerability=tools.answerability,
                evidence=tools.evidence,
            ),
        }
    )
    add_reading(builder, tools, "answerer", "summarizer", writer=_first)
    builder.add_route("answerer", _after_answerer, "summarizer", "evidence_selector")
    builder.add_edge("summarizer", "evidence_selector")
    builder.add_route("evidence_selector", _after_evidence_selector, "grounded_answerer", END_NODE)
    builder.add_route("grounded_answerer", _after_grounded_answerer, "claims_verifier", END_NODE)
    builder.add_edge("claims_verifier", END_NODE)
    builder.add_edge(END_NODE, END)
    return builder.compile(checkpointer=checkpointer, name=name)


def _after_answerer(_: GroundingState, parameters: VeriCiteParameters) -> str:
    return "evidence_selector" if parameters.statements == "draft" else "summarizer"


def _after_evidence_selector(state: GroundingState, parameters: VeriCiteParameters) -> str:
    return "grounded_answerer" if state["kept"] and parameters.refine else END_NODE


def _after_grounded_answerer(_: GroundingState, parameters: VeriCiteParameters) -> str:
    return "claims_verifier" if parameters.prove else END_NODE


def _first(parameters: VeriCiteParameters) -> str:
    return "summarizer" if parameters.statements == "evidence" else "answerer"
