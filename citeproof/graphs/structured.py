"""STRUCTURED: one call held to a JSON schema, in which every sentence names its passages.

The schema allows no sentence without a citation and no number that no passage bears, so nothing
need be repaired; what is left to check is whether the passages say so.
"""

from __future__ import annotations

from typing import Any, TypeAlias, Unpack

from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.answer_composer import AnswerComposer
from citeproof.agents.answerer import Answerer
from citeproof.agents.claims_verifier import ClaimsVerifier
from citeproof.graphs.options import StructuredOptions
from citeproof.graphs.reading import END_NODE, ReadingParameters, add_reading
from citeproof.graphs.wiring import Insertions, MethodBuilder
from citeproof.parameters import override_defaults
from citeproof.state import BaselineState, QuestionInput, Result
from citeproof.tools.toolbox import Toolbox

__all__ = ["StructuredParameters", "build_structured"]

Graph: TypeAlias = CompiledStateGraph[BaselineState, Any, QuestionInput, Result]


class StructuredParameters(ReadingParameters):
    """The parameters of STRUCTURED."""

    answer_tokens: int = Field(default=400, ge=16, le=4000)
    """Longest answer, JSON included."""
    may_abstain: bool = True
    """False asks for one sentence at least."""
    prove: bool = True
    """False leaves the claims unchecked."""


def build_structured(
    tools: Toolbox,
    *,
    checkpointer: Any = None,
    name: str = "structured",
    insert_after: Insertions | None = None,
    **parameters: Unpack[StructuredOptions],
) -> Graph:
    """The compiled graph of STRUCTURED.

    The model writes in the role `answerer`. A server that knows no schema is told the form in
    words. For arguments and errors see `build_vtg`; the parameters are fields of
    `StructuredParameters`.
    """
    schema = override_defaults(StructuredParameters, parameters, tools.budget)
    builder = MethodBuilder(
        tools, schema, BaselineState, Result, end=END_NODE, insert_after=insert_after
    )
    builder.add_nodes(
        {
            "answerer": Answerer(tools.llm_for("answerer").in_json()),
            "claims_verifier": ClaimsVerifier(tools.entailment),
            END_NODE: AnswerComposer(
                "structured",
                "keep",
                answerability=tools.answerability,
                evidence=tools.evidence,
            ),
        }
    )
    first = "answerer"
    add_reading(builder, tools, first, writer=lambda _: first)
    builder.add_route(first, _after_answerer, "claims_verifier", END_NODE)
    builder.add_edge("claims_verifier", END_NODE)
    builder.add_edge(END_NODE, END)
    return builder.compile(checkpointer=checkpointer, name=name)


def _after_answerer(state: BaselineState, parameters: StructuredParameters) -> str:
    return "claims_verifier" if parameters.prove and state["claims"] else END_NODE
