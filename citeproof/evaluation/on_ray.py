"""Questions answered in Ray actors, by graphs that are open there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

from citeproof.actors import Actors
from citeproof.errors import ModelOutageError
from citeproof.evaluation.corpus import choose_gold, search_documents
from citeproof.evaluation.examples import Example
from citeproof.evaluation.manifest import describe_models, hash_prompts
from citeproof.evaluation.results import Failure, Result
from citeproof.evaluation.runner import Answered, Answerer, answer, parameters_of, read_bank
from citeproof.graphs.registry import find_method
from citeproof.settings import RaySettings, Settings
from citeproof.tools.toolbox import Toolbox

__all__ = ["MethodOnRay", "on_ray", "open_tools"]


@contextmanager
def on_ray(
    open_graph: Callable[[], Any], settings: RaySettings | None = None
) -> Iterator[Answerer]:
    """A graph that answers in Ray actors: `run` takes it like one of this process.

        with on_ray(open_graph, RaySettings(actors=4)) as graph:
            await run(graph, "vtg", examples, Path("runs/vtg"))

    Args:
        open_graph: Called without arguments in each actor; opens tools and builds the graph.
        settings: The `[ray]` section.

    Raises:
        MissingExtraError: Ray is not installed.
        SettingsError: There is no such cluster, or it has no room for so many actors.
    """
    with Actors(partial(_open, open_graph), settings) as actors:
        yield _Spread(actors, _by_graph, actors.submit(parameters_of).result())


def open_tools(settings: Settings, *, llm: bool = True) -> Toolbox:
    """The tools of an actor. Citations of a benchmark are no evidence that anyone asked for."""
    tools = Toolbox.from_settings(settings, llm=llm)
    tools.evidence = None
    return tools


class About(NamedTuple):
    """The facts that an actor tells of its tools."""

    models: dict[str, dict[str, Any]]
    prompts: dict[str, str]
    passages: int | None
    """In the index; None where there is none."""
    cases: int | None
    """In the part of the bank that the method reads."""


class _Spread:
    """An `Answerer` over actors."""

    def __init__(
        self,
        actors: Actors[Any],
        ask: Callable[[Any, str, Example, bool], Awaitable[Answered]],
        parameters: dict[str, Any],
        cases: int | None = None,
    ) -> None:
        self._actors = actors
        self._ask = ask
        self.parameters = parameters
        self.cases = cases

    async def answer(self, method: str, example: Example, *, trace: bool) -> Answered:
        """Answer an example in the actor that has the least to do."""
        waiting = self._actors.submit(self._ask, method, example, trace)
        try:
            return await asyncio.wrap_future(waiting)
        except ModelOutageError as error:  # the example kills its actors, the others go on
            return Answered(
                Result(id=example.id, question=example.question, error=Failure.of(error))
            )


class MethodOnRay(_Spread):
    """A method that answers in actors with tools from settings.

    Each actor has opened `open_tools(settings)`.

    Raises:
        CiteproofError: The tools cannot be opened.
    """

    def __init__(
        self,
        actors: Actors[Toolbox],
        method: str,
        parameters: Mapping[str, Any],
        settings: Settings,
    ) -> None:
        graph = find_method(method).sketch(**parameters)
        super().__init__(actors, partial(_by_method, dict(parameters)), parameters_of(graph))
        self.about = actors.submit(_tell, self.parameters, settings).result()
        self.cases = self.about.cases

    async def choose_gold(self, examples: Sequence[Example], k: int) -> list[Example]:
        """The examples, each with the k documents that cover most of its answers."""
        return await asyncio.wrap_future(self._actors.submit(_with_gold, examples, k))


def _open(open_graph: Callable[[], Any]) -> AbstractContextManager[Any]:
    return nullcontext(open_graph())


def _by_graph(graph: Any, method: str, example: Example, trace: bool) -> Awaitable[Answered]:
    return answer(graph, method, example, trace=trace)


def _by_method(
    parameters: Mapping[str, Any], tools: Toolbox, method: str, example: Example, trace: bool
) -> Awaitable[Answered]:
    graph = find_method(method).build(search_documents(tools), **parameters)
    bank = read_bank(tools.bank, parameters_of(graph))
    return answer(graph, method, example, bank=bank, trace=trace)


async def _tell(tools: Toolbox, parameters: Mapping[str, Any], settings: Settings) -> About:
    bank = read_bank(tools.bank, parameters)
    return About(
        models=describe_models(tools, settings),
        prompts=hash_prompts(tools.prompts),
        passages=None if tools.index is None else tools.index.count(),
        cases=None if bank is None else await bank.count(),
    )


def _with_gold(tools: Toolbox, examples: Sequence[Example], k: int) -> Awaitable[list[Example]]:
    return choose_gold(examples, tools, k)
