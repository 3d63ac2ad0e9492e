"""STRUCTURED: one call with a JSON schema that makes every sentence cite passages.

The schema requires a citation for each sentence and allows only numbers of passages, so citations
need no repair. What remains to be checked is whether the passages support the sentences.
"""

from __future__ import annotations

from typing import Unpack

from pydantic import Field

from citeproof.agents.answerer import Answerer
from citeproof.graphs.options import StructuredOptions
from citeproof.graphs.reading import (
    Graph,
    ReadingParameters,
    Step,
    build_steps,
    check_step,
    reading_steps,
)
from citeproof.state import BaselineState
from citeproof.tools.toolbox import Toolbox

__all__ = ["StructuredParameters", "build_structured"]


class StructuredParameters(ReadingParameters):
    """The parameters of STRUCTURED."""

    answer_tokens: int = Field(default=400, ge=16, le=4000)
    """Maximum length of the answer, including its JSON, in tokens."""
    may_abstain: bool = True
    """False requires at least one sentence."""
    prove: bool = True
    """False leaves the claims unchecked."""


def build_structured(tools: Toolbox, **options: Unpack[StructuredOptions]) -> Graph:
    """The compiled graph of STRUCTURED.

    The model has the role `answerer`. For a server that does not support schemas, the prompt
    describes the form in words. For arguments and errors, see `build_vtg`; the parameters are
    fields of `StructuredParameters`.
    """
    steps = [
        *reading_steps(tools),
        Step("answerer", Answerer(tools.llm_for("answerer").in_form("json"))),
        check_step(tools, lambda state, parameters: parameters.prove and bool(state["claims"])),
    ]
    return build_steps(tools, "structured", StructuredParameters, BaselineState, steps, options)
