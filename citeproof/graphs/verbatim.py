"""VERBATIM: the answer is made of sentences of the passages, and no language model writes.

A quote is proved by identity: the passage that it cites has its words. Two small models choose:
the retriever's, and the one that says whether a text answers a question.
"""

from __future__ import annotations

from typing import Any, TypeAlias, Unpack

from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.answer_composer import AnswerComposer
from citeproof.agents.quote_verifier import QuoteVerifier
from citeproof.agents.sentence_selector import SentenceSelector
from citeproof.graphs.options import VerbatimOptions
from citeproof.graphs.reading import END_NODE, ReadingParameters, add_reading
from citeproof.graphs.wiring import Insertions, MethodBuilder
from citeproof.parameters import override_defaults
from citeproof.state import GroundingState, QuestionInput, Result
from citeproof.tools.toolbox import Toolbox

__all__ = ["VerbatimParameters", "build_verbatim"]

Graph: TypeAlias = CompiledStateGraph[GroundingState, Any, QuestionInput, Result]


class VerbatimParameters(ReadingParameters):
    """The parameters of VERBATIM."""

    read: int = Field(default=3, ge=1, le=50)
    """Passages whose sentences are looked at: those of the k that answer best."""
    quotes: int = Field(default=2, ge=1, le=20)
    """Most quotes of an answer; a question of several parts may have one for each."""
    context: bool = True
    """False quotes a sentence alone, even if it begins with "He" or "This"."""


def build_verbatim(
    tools: Toolbox,
    *,
    checkpointer: Any = None,
    name: str = "verbatim",
    insert_after: Insertions | None = None,
    **parameters: Unpack[VerbatimOptions],
) -> Graph:
    """The compiled graph of VERBATIM.

    It asks no language model, so `Toolbox(None, …)` and `Toolbox.from_settings(llm=False)` will do;
    with one, a follow-up of a conversation is rewritten. Without `Toolbox(answerability=…)` the
    words that question and sentence share decide. For arguments and errors see `build_vtg`; the
    parameters are fields of `VerbatimParameters`.
    """
    schema = override_defaults(VerbatimParameters, parameters, tools.budget)
    builder = MethodBuilder(
        tools, schema, GroundingState, Result, end=END_NODE, insert_after=insert_after
    )
    builder.add_nodes(
        {
            "sentence_selector": SentenceSelector(tools.answerability),
            "quote_verifier": QuoteVerifier(),
            END_NODE: AnswerComposer(
                "verbatim",
                "keep",
                answerability=tools.answerability,
                evidence=tools.evidence,
            ),
        }
    )
    first = "sentence_selector"
    add_reading(builder, tools, first, writer=lambda _: first)
    builder.add_edge(first, "quote_verifier")
    builder.add_edge("quote_verifier", END_NODE)
    builder.add_edge(END_NODE, END)
    return builder.compile(checkpointer=checkpointer, name=name)
