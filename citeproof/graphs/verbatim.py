"""VERBATIM: answers with sentences from the passages; no language model writes.

A quote is proved by identity: the cited passage contains its words. Two small models choose the
quotes: the retriever's, and the one that decides whether a text answers a question.
"""

from __future__ import annotations

from typing import Unpack

from pydantic import Field

from citeproof.agents.quoter import QuoteVerifier
from citeproof.agents.sentence_selector import SentenceSelector
from citeproof.graphs.options import VerbatimOptions
from citeproof.graphs.reading import Graph, ReadingParameters, Step, build_steps, reading_steps
from citeproof.state import GroundingState
from citeproof.tools.toolbox import Toolbox

__all__ = ["VerbatimParameters", "build_verbatim"]


class VerbatimParameters(ReadingParameters):
    """The parameters of VERBATIM."""

    read: int = Field(default=3, ge=1, le=50)
    """Number of passages whose sentences are considered: those of the k that answer best."""
    quotes: int = Field(default=2, ge=1, le=20)
    """Maximum number of quotes in an answer; a question with several parts may have one for each
    part."""
    context: bool = True
    """False quotes a sentence without context, even if it begins with "He" or "This"."""


def build_verbatim(tools: Toolbox, **options: Unpack[VerbatimOptions]) -> Graph:
    """The compiled graph of VERBATIM.

    It needs no language model, so `Toolbox(None, …)` and `Toolbox.from_settings(llm=False)`
    suffice; if there is one, it only rewrites follow-up questions of a conversation. Without
    `Toolbox(answerability=…)`, the words that question and sentence share decide. For arguments
    and errors, see `build_vtg`; the parameters are fields of `VerbatimParameters`.
    """
    steps = [
        # A passage that only the language model accepts has no sentence sure enough to quote.
        *reading_steps(tools, judges=False),
        Step("sentence_selector", SentenceSelector(tools.answerability)),
        Step("quote_verifier", QuoteVerifier()),
    ]
    return build_steps(tools, "verbatim", VerbatimParameters, GroundingState, steps, options)
