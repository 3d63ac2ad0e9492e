"""QUOTE FIRST: the model quotes the passages, the quotes are verified, then it answers from them.

This is the form of FRONT (Huang et al., "Learning Fine-Grained Grounded Citations for Attributed
Large Language Models", arXiv 2408.04568). FRONT trains a model for it; here, any model is prompted.
"""

from __future__ import annotations

from typing import Unpack

from pydantic import Field

from citeproof.agents.answerer import Answerer, GroundedAnswerer
from citeproof.agents.quoter import QuoteVerifier
from citeproof.graphs.options import QuoteFirstOptions
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

__all__ = ["QuoteFirstParameters", "build_quote_first"]


class QuoteFirstParameters(ReadingParameters):
    """The parameters of QUOTE FIRST."""

    answer_tokens: int = Field(default=400, ge=16, le=4000)
    """Maximum length of each reply (the quotes and the answer), in tokens."""
    nearest: bool = True
    """True replaces a paraphrased quote by the passage's own sentence; False drops it."""
    write: bool = True
    """False returns the verified quotes as the answer and saves the second call."""
    prove: bool = True
    """True checks the sentences of the answer by entailment against the passages of their
    quotes."""


def build_quote_first(tools: Toolbox, **options: Unpack[QuoteFirstOptions]) -> Graph:
    """The compiled graph of QUOTE FIRST.

    The model that quotes and writes has the role `answerer`. For arguments and errors, see
    `build_vtg`; the parameters are fields of `QuoteFirstParameters`.
    """
    model = tools.llm_for("answerer")
    steps = [
        *reading_steps(tools),
        Step("quote_extractor", Answerer(model, quoting=True, may_abstain=True)),
        Step("quote_verifier", QuoteVerifier()),
        Step("grounded_answerer", GroundedAnswerer(model), _writes, else_end=True),
        check_step(tools),
    ]
    return build_steps(tools, "quote-first", QuoteFirstParameters, GroundingState, steps, options)


def _writes(state: GroundingState, parameters: QuoteFirstParameters) -> bool:
    return bool(state["kept"]) and parameters.write
