"""Runs a graph inside the run of another: its cost, notes and events become that run's."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from citeproof.errors import BudgetExceededError, InputError
from citeproof.tools.events import AnswerReady, emit
from citeproof.tools.meter import note, spend
from citeproof.types import Answer

__all__ = ["apart", "counted", "drafting", "nested"]

DURABILITY = "__pregel_durability"
"""Where LangGraph keeps the durability that the runs inside a run have from it."""

_drafting: ContextVar[bool] = ContextVar("citeproof_drafting", default=False)


def drafting() -> bool:
    """Whether the run around has an answer of its own, and what is written here is a draft."""
    return _drafting.get()


async def nested(
    graph: Any,
    state: Mapping[str, Any],
    *,
    final: bool = False,
    searches: int = 0,
    **context: Any,
) -> dict[str, Any]:
    """What the graph gives for the question and the documents of a state.

    While it goes on, it keeps to the budget of its own. A graph of somebody else's that uses
    our models without one is stopped by that of the run around it, and then gives no claim.

    Args:
        graph: From a `Question` to a `Result`.
        state: Holds `question`, and perhaps `documents`.
        final: Whether its answer becomes that of the run around it, as it is.
        searches: How many of its retrievals are counted by whoever asked for it.
        **context: Parameters for this run.

    Raises:
        InputError: What the graph gives holds no `Answer`.
    """
    question = {key: state[key] for key in ("question", "documents") if state.get(key)}
    result: dict[str, Any] = {}
    # With None for a context, LangGraph would hand it the parameters of the run around it.
    run = apart(graph).astream(question, context=context, stream_mode=["custom", "values"])
    before = _drafting.set(drafting() or not final)
    try:
        async for mode, part in run:
            if mode == "values":
                result = part
            elif not isinstance(part, AnswerReady):  # the run around it has an answer of its own
                emit(part)
    except BudgetExceededError as error:
        stopped: dict[str, Any] = {"status": "abstained", "reason": str(error)}
        return {"answer": Answer(question=state["question"], method=graph.name, **stopped)}
    finally:
        _drafting.reset(before)
    if not isinstance(result.get("answer"), Answer):
        raise InputError(
            f"The graph {graph.name} cannot be part of another",
            why="it gave no Answer",
            fix="Let it write one under the key `answer`.",
        )
    return counted(result, searches=searches)


def apart(graph: Any) -> Any:
    """The graph without a checkpointer, whatever runs around it.

    With the checkpointer of the run around it, that run would store each of its steps, and could
    take one question's for another's when it resumes.
    """
    # Else a run with durability="sync" makes its own wait for a checkpoint that it never writes.
    return graph.copy(update={"checkpointer": False}).with_config(
        configurable={DURABILITY: "async"}
    )


def counted(result: dict[str, Any], *, searches: int = 0) -> dict[str, Any]:
    """A result, once its cost and notes are reported to the meter in force.

    Args:
        result: Of a graph.
        searches: How many of its retrievals are counted elsewhere.
    """
    answer = result["answer"]
    left = max(answer.usage.retrievals - searches, 0)
    spend(answer.usage.model_copy(update={"retrievals": left}))
    for text in answer.notes:
        note(text)
    return result
