"""How the methods begin that read the best passages once, and end where none answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field

from citeproof.agents.answerability_verifier import AnswerabilityVerifier
from citeproof.agents.retriever import Retriever
from citeproof.graphs.wiring import MethodBuilder
from citeproof.parameters import Parameters
from citeproof.tools.toolbox import Toolbox

__all__ = ["END_NODE", "ReadingParameters", "add_reading"]

END_NODE = "answer_composer"


class ReadingParameters(Parameters):
    """The parameters of methods that read the best passages once."""

    k: int = Field(default=5, ge=1, le=50)
    """Passages that are read."""
    ranked: bool = False
    """True takes the first k of the documents that come with a question, in their order."""


def add_reading(
    builder: MethodBuilder, tools: Toolbox, *writers: str, writer: Callable[[Any], str]
) -> None:
    """Add the nodes that find passages and see whether they answer, and the edges behind them.

    Args:
        builder: The graph under construction; it has a node `answer_composer`.
        tools: Retriever, and the model of answerability.
        *writers: The nodes that the method may go on with.
        writer: Says which of them by the parameters.
    """
    retriever, verifier = "retriever", "answerability_verifier"
    builder.add_nodes(
        {
            retriever: Retriever(tools.retriever),
            verifier: AnswerabilityVerifier(tools.answerability, tools.retriever),
        }
    )

    def after_retriever(state: Any, parameters: ReadingParameters) -> str:
        asks = tools.answerability is not None and parameters.check_answer
        return verifier if asks and state["passages"] else after_verifier(state, parameters)

    def after_verifier(state: Any, parameters: ReadingParameters) -> str:
        ends = not state["passages"] or state.get("answerable") is False
        return END_NODE if ends else writer(parameters)

    builder.add_opening(retriever)
    builder.add_route(retriever, after_retriever, verifier, *writers, END_NODE)
    builder.add_route(verifier, after_verifier, *writers, END_NODE)
