"""Answers questions in Ray actors, with graphs that are opened there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

from citeproof.actors import Actors
from citeproof.errors import ModelOutageError
from citeproof.evaluation.corpus import search_documents
from citeproof.evaluation.examples import Example
from citeproof.evaluation.manifest import describe_models, hash_prompts
from citeproof.evaluation.results import Failure, Result
from citeproof.evaluation.runner import Answered, Answerer, answer, parameters_of, read_bank
from citeproof.graphs.registry import open_method
from citeproof.settings import RaySettings, Settings
from citeproof.tools.toolbox import Toolbox

__all__ = ["About", "describe_tools", "method_on_ray", "on_ray", "open_tools"]


@contextmanager
def on_ray(
    open_graph: Callable[[], Any], settings: RaySettings | None = None
) -> Iterator[Answerer]:
    """Yield a graph that answers in Ray actors, which `run` accepts like a local one.

        with on_ray(open_graph, RaySettings(actors=4)) as graph:
            await run(graph, "vtg", examples, Path("runs/vtg"))

    Each actor calls `open_graph`, which opens tools and builds the graph.

    Raises:
        MissingExtraError: Ray is not installed.
        SettingsError: There is no such cluster, or it has no room for that many actors.
    """
    with Actors(lambda: nullcontext(open_graph()), settings) as actors:
        yield Answerer(partial(_answer, actors, answer), actors.submit(parameters_of).result())


def open_tools(settings: Settings, *, llm: bool = True) -> Toolbox:
    """Open the tools of an actor, without the evidence log, which benchmarks should not fill."""
    tools = Toolbox.from_settings(settings, llm=llm)
    tools.evidence = None
    return tools


class About(NamedTuple):
    """Facts about tools, for a manifest."""

    models: dict[str, dict[str, Any]]
    prompts: dict[str, str]
    passages: int | None
    """Passages in the index; None if there is no index."""
    cases: int | None
    """Cases in the part of the bank that the method reads; None if it reads none."""


async def _answer(
    actors: Actors[Any],
    ask: Callable[..., Awaitable[Answered]],
    method: str,
    example: Example,
    *,
    trace: bool,
) -> Answered:
    """Answer an example in the actor with the least work; `ask` gets what the actor holds first."""
    waiting = actors.submit(ask, method, example, trace=trace)
    try:
        return await asyncio.wrap_future(waiting)
    except ModelOutageError as error:  # the example killed its actors; the others go on
        return Answered(Result(id=example.id, question=example.question, error=Failure.of(error)))


def method_on_ray(
    actors: Actors[Toolbox], method: str, parameters: Mapping[str, Any], settings: Settings
) -> tuple[Answerer, About]:
    """Return a method that answers in actors opened with `open_tools`, and their facts."""
    known = parameters_of(open_method(method).sketch(**parameters))
    about = actors.submit(describe_tools, known, settings).result()
    ask = partial(_answer, actors, partial(_by_method, dict(parameters)))
    return Answerer(ask, known, about.cases), about


def _by_method(
    parameters: Mapping[str, Any], tools: Toolbox, method: str, example: Example, *, trace: bool
) -> Awaitable[Answered]:
    graph = open_method(method).build(search_documents(tools), **parameters)
    bank = read_bank(tools.bank, parameters_of(graph))
    return answer(graph, method, example, bank=bank, trace=trace)


async def describe_tools(
    tools: Toolbox, parameters: Mapping[str, Any], settings: Settings
) -> About:
    """Return facts about tools opened from settings, for a method with these parameters."""
    bank = read_bank(tools.bank, parameters)
    return About(
        models=describe_models(tools, settings),
        prompts=hash_prompts(tools.prompts),
        passages=None if tools.index is None else tools.index.count(),
        cases=None if bank is None else await bank.count(),
    )
