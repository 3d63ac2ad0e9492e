"""Methods that run step by step: they find passages once, read them, write, and check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.answerability_verifier import AnswerabilityVerifier
from citeproof.agents.base import Node
from citeproof.agents.claims_verifier import ClaimsVerifier
from citeproof.agents.retriever import Retriever
from citeproof.graphs.wiring import COMPOSER, MethodBuilder
from citeproof.parameters import Parameters
from citeproof.state import QuestionInput, Result
from citeproof.tools.llm.opening import no_llm
from citeproof.tools.toolbox import Toolbox

__all__ = ["Graph", "ReadingParameters", "Step", "build_steps", "check_step", "reading_steps"]

Graph: TypeAlias = CompiledStateGraph[Any, Any, QuestionInput, Result]

_READING = ("retriever", "answerability_verifier")


class ReadingParameters(Parameters):
    """The parameters of methods that read the best passages once."""

    k: int = Field(default=5, ge=1, le=50)
    """Number of passages to read."""
    ranked: bool = False
    """True takes the first k of the documents that come with a question, in their order, instead of
    searching them."""


class Step(NamedTuple):
    """A node and the condition for running it."""

    name: str
    node: Node
    wanted: Callable[[Any, Any], bool] | None = None
    """Decides from state and parameters whether a run takes the step; with None, every run does."""
    else_end: bool = False
    """Whether a run that skips this step ends instead of continuing with the next one."""
    instead: bool = False
    """Whether every run that skips the previous step takes this one."""


def reading_steps(tools: Toolbox, *, searches: bool = True, judges: bool = True) -> list[Step]:
    """Find passages and check whether they answer the question; the run ends if none does.

    With `searches=False`, only the documents that come with the question are read. With
    `judges=False`, no language model is asked whether they answer.
    """
    asks = tools.answerability is not None
    return [
        Step("retriever", Retriever(tools.retriever if searches else None)),
        Step(
            "answerability_verifier",
            AnswerabilityVerifier(
                tools.llm_for("judge") if judges else no_llm(),
                tools.retriever,
                tools.answerability,
            ),
            lambda _, parameters: asks and parameters.check_answer,
        ),
    ]


def check_step(tools: Toolbox, wanted: Callable[[Any, Any], bool] | None = None) -> Step:
    """Check the claims against the passages they cite; by default only if `prove` is set."""
    verifier = ClaimsVerifier(tools.entailment)
    return Step("claims_verifier", verifier, wanted or (lambda _, parameters: parameters.prove))


def build_steps(
    tools: Toolbox,
    method: str,
    schema: type[Parameters],
    state: type[Any],
    steps: Sequence[Step],
    options: Mapping[str, Any],
    **composer: Any,
) -> Graph:
    """The compiled graph that runs the steps in order and then composes the answer.

    Args:
        tools: Models and retriever.
        method: Name of the method.
        schema: The method's parameters.
        state: The schema of the graph's state.
        steps: The steps in order; every run takes the first.
        options: The options of the method's builder.
        **composer: Fields of the `AnswerComposer`.

    Raises:
        SettingsError: A parameter is unknown or out of range, or a node is inserted after one that
            does not exist.
    """
    builder = MethodBuilder(tools, method, schema, state, Result, options)
    builder.add_nodes({step.name: step.node for step in steps})
    builder.add_opening(steps[0].name)
    for place, step in enumerate(steps, start=1):
        after = _reachable(steps[place:])
        targets = [one.name for one in after]
        may_skip = not after or after[-1].else_end or not _is_certain(after)
        if may_skip or step.name in _READING:
            targets.append(COMPOSER)
        if len(targets) == 1:
            builder.add_edges(step.name, targets[0])
        else:
            builder.add_route(step.name, partial(_next, step.name, after), *targets)
    builder.add_composer(method, unverified="keep", **composer)
    return builder.compile()


def _reachable(steps: Sequence[Step]) -> list[Step]:
    """The steps that may come next, up to the first that no run skips."""
    ends = (n for n, step in enumerate(steps, 1) if step.else_end or _is_certain(steps[:n]))
    return list(steps[: next(ends, len(steps))])


def _is_certain(steps: Sequence[Step]) -> bool:
    """Whether every run takes at least one of these steps."""
    return steps[-1].wanted is None or (steps[-1].instead and len(steps) > 1)


def _next(source: str, after: Sequence[Step], state: Any, parameters: Any) -> str:
    if source in _READING and (not state["passages"] or state.get("answerable") is False):
        return COMPOSER
    wanted = (step.name for step in after if not step.wanted or step.wanted(state, parameters))
    return next(wanted, COMPOSER)
