"""VTG: verifiable text generation with evolving memory and a two-tier verifier.

Sun et al., "Towards Verifiable Text Generation with Evolving Memory and Self-Reflection",
Algorithm 1. Claims are written one by one; each is checked against what it cites, then against
the whole memory; where both fail, new evidence is looked for and the claim is written anew.
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias, Unpack

from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.answer_composer import AnswerComposer
from citeproof.agents.answerability_verifier import AnswerabilityVerifier
from citeproof.agents.citation_generator import CitationGenerator
from citeproof.agents.claim_generator import ClaimGenerator
from citeproof.agents.retriever import Retriever
from citeproof.graphs.options import VTGOptions
from citeproof.graphs.proof import ENTRANCES, ProofParameters, add_proof, enter_proof
from citeproof.graphs.wiring import Insertions, MethodBuilder
from citeproof.parameters import override_defaults
from citeproof.state import QuestionInput, Result, VTGState
from citeproof.tools.toolbox import Toolbox

__all__ = ["PAPER_PARAMETERS", "VTGParameters", "build_vtg"]

Graph: TypeAlias = CompiledStateGraph[VTGState, Any, QuestionInput, Result]


class VTGParameters(ProofParameters):
    """The parameters of VTG."""

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
    tools: Toolbox,
    *,
    checkpointer: Any = None,
    name: str = "vtg",
    insert_after: Insertions | None = None,
    **parameters: Unpack[VTGOptions],
) -> Graph:
    """The compiled graph of VTG.

    Args:
        tools: Models and retriever.
        checkpointer: A LangGraph checkpointer; none by default, as the LangGraph server brings
            its own.
        name: The graph's name in traces.
        insert_after: Nodes of your own: name of a node → what goes behind it, or a pair of
            names → what goes between the two.
        **parameters: Fields of `VTGParameters`. They become the defaults of the graph's
            context, which a run may override: `graph.invoke(…, context={"k": 8})`.

    Raises:
        SettingsError: A parameter is unknown or out of range, or there is no such node.
    """
    schema = override_defaults(VTGParameters, parameters, tools.budget)
    end, writer = "answer_composer", "claim_generator"
    builder = MethodBuilder(tools, schema, VTGState, Result, end=end, insert_after=insert_after)
    builder.add_nodes(
        {
            "retriever": Retriever(tools.retriever),
            "answerability_verifier": AnswerabilityVerifier(tools.answerability, tools.retriever),
            writer: ClaimGenerator(tools.llm_for("claim_generator")),
            "citation_generator": CitationGenerator(tools.llm_for("citation_generator")),
            end: AnswerComposer(
                announce=False, answerability=tools.answerability, evidence=tools.evidence
            ),
        }
    )
    add_proof(builder, tools, writers=[writer])
    builder.add_opening("retriever")
    asks = tools.answerability is not None
    builder.add_route(
        "retriever", partial(_after_retriever, asks), "answerability_verifier", writer, end
    )
    builder.add_route("answerability_verifier", partial(_after_retriever, False), writer, end)
    builder.add_route(writer, _after_claim_generator, "citation_generator", end)
    builder.add_route("citation_generator", enter_proof, *ENTRANCES)
    builder.add_route("claim_acceptor", _after_claim_acceptor, writer, end)
    builder.add_edge(end, END)
    return builder.compile(checkpointer=checkpointer, name=name)


def _after_retriever(asks: bool, state: VTGState, parameters: VTGParameters) -> str:
    if not state["passages"] or state.get("answerable") is False:
        return "answer_composer"
    return "answerability_verifier" if asks and parameters.check_answer else "claim_generator"


def _after_claim_generator(state: VTGState, _: VTGParameters) -> str:
    return "answer_composer" if state.get("draft") is None else "citation_generator"


def _after_claim_acceptor(state: VTGState, parameters: VTGParameters) -> str:
    sentences = len(state["claims"]) + len(state["dropped"])
    return "claim_generator" if sentences < parameters.max_claims else "answer_composer"
