"""Ends a run with an answer when a node cannot continue."""

from __future__ import annotations

from collections.abc import Container
from copy import copy
from typing import Any

from langgraph.errors import NodeError
from langgraph.graph import END
from langgraph.types import Command

from citeproof.errors import (
    BudgetExceededError,
    CiteproofError,
    ModelOutageError,
    RetrievalError,
)
from citeproof.parameters import Parameters, current_parameters
from citeproof.state import RunState

__all__ = ["finish_at"]


def finish_at(
    composer: str,
    schema: type[Parameters] = Parameters,
    *,
    behind: Container[str] = (),
    last: str = "",
) -> Any:
    """An error handler that ends a run with an answer when a node cannot continue.

    For `builder.set_node_defaults(error_handler=finish_at("answer_composer"))`. A spent budget
    leads to the node that composes the answer, as does an outage if the run's parameters set
    `on_outage`. If it recurs behind that node, the run ends with the answer that it has. Every
    other error ends the run; with a checkpointer, the run can be resumed at the node that failed.

    Args:
        composer: Name of the node that composes the answer, or `END`; the key `stop` of the state
            holds the reason.
        schema: The graph's parameters.
        behind: Names of the nodes behind `composer`.
        last: Name of the node that composes the answer if `composer` only leads to it.
    """

    def finish(state: RunState, error: NodeError) -> Command[Any]:
        failure = error.error
        ending: tuple[type[CiteproofError], ...] = (BudgetExceededError,)
        if current_parameters(schema).on_outage:
            ending = (BudgetExceededError, ModelOutageError, RetrievalError)
        if isinstance(failure, ending) and error.node not in (composer, last):
            goto = composer
            if error.node in behind and state.get("stop") == str(failure):  # it would recur again
                goto = END if state.get("answer") else last or END
            return Command(update={"stop": str(failure), "ledger": dict(failure.cost)}, goto=goto)
        if isinstance(failure, BaseException):
            raised = copy(failure)  # LangGraph ignores the object that it passed to the handler
            if isinstance(raised, CiteproofError):  # the only way for costs to reach an outer graph
                raised.cost = {**(state.get("ledger") or {}), **raised.cost}
            raise raised
        # When a run is resumed, LangGraph calls the handler again, with the text of the error. Keys
        # that last for one step only, such as the documents, must be passed on.
        documents = state.get("documents") or []
        return Command(update={"documents": documents}, goto=error.node)

    return finish
