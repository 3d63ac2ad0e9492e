"""VERBATIM: the answer is made of sentences of the passages, and no language model writes.

A quote is proved by identity: the passage that it cites has its words. Two small models choose:
the retriever's, and the one that says whether a text answers a question.
"""

from __future__ import annotations

from typing import Any, TypeAlias, Unpack

from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.quote_verifier import QuoteVerifier
from citeproof.agents.sentence_selector import SentenceSelector
from citeproof.graphs.options import VerbatimOptions
from citeproof.graphs.reading import ReadingParameters, Step, build_steps, reading_steps
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


def build_verbatim(tools: Toolbox, **options: Unpack[VerbatimOptions]) -> Graph:
    """The compiled graph of VERBATIM.

    It asks no language model, so `Toolbox(None, …)` and `Toolbox.from_settings(llm=False)` will do;
    with one, a follow-up of a conversation is rewritten. Without `Toolbox(answerability=…)` the
    words that question and sentence share decide. For arguments and errors see `build_vtg`; the
    parameters are fields of `VerbatimParameters`.
    """
    steps = [
        *reading_steps(tools),
        Step("sentence_selector", SentenceSelector(tools.answerability)),
        Step("quote_verifier", QuoteVerifier()),
    ]
    return build_steps(tools, "verbatim", VerbatimParameters, GroundingState, steps, options)
