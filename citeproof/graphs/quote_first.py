"""QUOTE FIRST: the model quotes the passages, the quotes are verified, then it answers from them.

The form of FRONT (Huang et al., "Learning Fine-Grained Grounded Citations for Attributed Large
Language Models", arXiv 2408.04568), which trains a model for it; here any model is prompted.
"""

from __future__ import annotations

from typing import Any, TypeAlias, Unpack

from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.answer_composer import AnswerComposer
from citeproof.agents.claims_verifier import ClaimsVerifier
from citeproof.agents.grounded_answerer import GroundedAnswerer
from citeproof.agents.quote_extractor import QuoteExtractor
from citeproof.agents.quote_verifier import QuoteVerifier
from citeproof.graphs.options import QuoteFirstOptions
from citeproof.graphs.reading import END_NODE, ReadingParameters, add_reading
from citeproof.graphs.wiring import Insertions, MethodBuilder
from citeproof.parameters import override_defaults
from citeproof.state import GroundingState, QuestionInput, Result
from citeproof.tools.toolbox import Toolbox

__all__ = ["QuoteFirstParameters", "build_quote_first"]

Graph: TypeAlias = CompiledStateGraph[GroundingState, Any, QuestionInput, Result]


class QuoteFirstParameters(ReadingParameters):
    """The parameters of QUOTE FIRST."""

    answer_tokens: int = Field(default=400, ge=16, le=4000)
    """Longest reply: the quotes, and the answer."""
    nearest: bool = True
    """Takes the passage's own sentence for a quote that paraphrases it; False leaves that out."""
    write: bool = True
    """False gives the verified quotes as the answer, and spares the second call."""
    prove: bool = True
    """Checks the answer's sentences by entailment against the passages of their quotes."""


def build_quote_first(
    tools: Toolbox,
    *,
    checkpointer: Any = None,
    name: str = "quote-first",
    insert_after: Insertions | None = None,
    **parameters: Unpack[QuoteFirstOptions],
) -> Graph:
    """The compiled graph of QUOTE FIRST.

    The model quotes and writes in the role `answerer`. For arguments and errors see `build_vtg`;
    the parameters are fields of `QuoteFirstParameters`.
    """
    schema = override_defaults(QuoteFirstParameters, parameters, tools.budget)
    model = tools.llm_for("answerer")
    builder = MethodBuilder(
        tools, schema, GroundingState, Result, end=END_NODE, insert_after=insert_after
    )
    builder.add_nodes(
        {
            "quote_extractor": QuoteExtractor(model),
            "quote_verifier": QuoteVerifier(),
            "grounded_answerer": GroundedAnswerer(model),
            "claims_verifier": ClaimsVerifier(tools.entailment),
            END_NODE: AnswerComposer(
                "quote-first",
                "keep",
                answerability=tools.answerability,
                evidence=tools.evidence,
            ),
        }
    )
    first = "quote_extractor"
    add_reading(builder, tools, first, writer=lambda _: first)
    builder.add_edge(first, "quote_verifier")
    builder.add_route("quote_verifier", _after_quote_verifier, "grounded_answerer", END_NODE)
    builder.add_route("grounded_answerer", _after_grounded_answerer, "claims_verifier", END_NODE)
    builder.add_edge("claims_verifier", END_NODE)
    builder.add_edge(END_NODE, END)
    return builder.compile(checkpointer=checkpointer, name=name)


def _after_quote_verifier(state: GroundingState, parameters: QuoteFirstParameters) -> str:
    return "grounded_answerer" if state["kept"] and parameters.write else END_NODE


def _after_grounded_answerer(_: GroundingState, parameters: QuoteFirstParameters) -> str:
    return "claims_verifier" if parameters.prove else END_NODE
