"""VTG: verifiable text generation with evolving memory and a two-tier verifier.

Sun et al., "Towards Verifiable Text Generation with Evolving Memory and Self-Reflection",
Algorithm 1. Claims are written one by one; each is checked against what it cites, then against
the whole memory; where both fail, new evidence is looked for and the claim is written anew.
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias

from langgraph.graph import END, StateGraph
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.answer_composer import AnswerComposer
from citeproof.agents.citation_generator import CitationGenerator
from citeproof.agents.claim_generator import ClaimGenerator
from citeproof.agents.retriever import Retriever
from citeproof.graphs.proof import ENTRANCES, ProofParameters, add_proof, begin, entrance
from citeproof.graphs.wiring import Node, add_node, add_route, compiled, fixed
from citeproof.state import Question, Result, VTGState
from citeproof.tools.toolbox import Toolbox

__all__ = ["PAPER_PARAMETERS", "VTGParameters", "build_vtg"]

Graph: TypeAlias = CompiledStateGraph[VTGState, Any, Question, Result]


class VTGParameters(ProofParameters):
    """The knobs of VTG."""

    k: int = Field(default=5, ge=1, le=50)
    """Passages that fill the long-term memory for the question."""
    ranked: bool = False
    """True takes the first k of the documents that come with a question, in their order."""
    max_claims: int = Field(default=6, ge=1, le=100)
    """Sentences, at most; claims that were dropped count."""
    claim_tokens: int = Field(default=96, ge=16, le=1000)
    """Longest claim."""
    may_abstain: bool = False
    """Offers the writer to write nothing where the passages give no answer. Larger models use
    it well; the embedded one then abstains on most questions that the passages do answer."""


PAPER_PARAMETERS: dict[str, dict[str, dict[str, Any]]] = {
    size: {
        data: dict(zip(("max_trials", "queries", "k", "passages_per_query"), row, strict=True))
        for data, row in rows.items()
    }
    for size, rows in {
        "gpt": {
            "2wikimultihopqa": (5, 2, 5, 4),
            "asqa": (2, 4, 5, 2),
            "eli5": (3, 2, 5, 2),
            "nq": (3, 2, 5, 3),
            "webq": (3, 4, 5, 2),
        },
        "13b": {
            "2wikimultihopqa": (5, 4, 5, 2),
            "asqa": (3, 2, 5, 4),
            "eli5": (5, 2, 5, 4),
            "nq": (3, 3, 5, 3),
            "webq": (3, 3, 5, 3),
        },
    }.items()
}
"""Tables 6 and 7: `build_vtg(tools, **PAPER_PARAMETERS["13b"]["asqa"])`."""


def build_vtg(
    tools: Toolbox, *, checkpointer: Any = None, name: str = "vtg", **parameters: Any
) -> Graph:
    """The compiled graph of VTG.

    Args:
        tools: Models and retriever.
        checkpointer: A LangGraph checkpointer; none by default, as the LangGraph server brings
            its own.
        name: The graph's name in traces.
        **parameters: Fields of `VTGParameters`. They become the defaults of the graph's
            context, which a run may override: `graph.invoke(…, context={"k": 8})`.

    Raises:
        SettingsError: A parameter is unknown or out of range.
    """
    schema = fixed(VTGParameters, parameters, tools.budget)
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(
        VTGState, context_schema=schema, input_schema=Question, output_schema=Result
    )
    nodes: dict[str, Node[Any]] = {
        "claim_generator": ClaimGenerator(tools.llm_for("claim_generator")),
        "citation_generator": CitationGenerator(tools.llm_for("citation_generator")),
        "answer_composer": AnswerComposer(evidence=tools.evidence),
    }
    add_node(builder, "retriever", Retriever(tools.retriever), schema, begins=True)
    for node_name, node in nodes.items():
        add_node(builder, node_name, node, schema)
    end, writer = "answer_composer", "claim_generator"
    add_proof(builder, tools, schema, writers=[writer], end=end)

    edges = partial(add_route, builder, schema, end)
    begin(builder, schema, "retriever")
    edges("retriever", _after_retriever, writer)
    edges(writer, _after_claim_generator, "citation_generator")
    edges("citation_generator", entrance, *ENTRANCES)
    edges("claim_acceptor", _after_claim_acceptor, writer)
    builder.add_edge("answer_composer", END)

    return compiled(builder, checkpointer=checkpointer, name=name, steps=25_000)


def _after_retriever(state: VTGState, _: VTGParameters) -> str:
    return "claim_generator" if state["passages"] else "answer_composer"


def _after_claim_generator(state: VTGState, _: VTGParameters) -> str:
    return "answer_composer" if state["draft"] is None else "citation_generator"


def _after_claim_acceptor(state: VTGState, parameters: VTGParameters) -> str:
    sentences = len(state["claims"]) + len(state["dropped"])
    return "claim_generator" if sentences < parameters.max_claims else "answer_composer"
