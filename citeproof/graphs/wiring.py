"""A thin layer over LangGraph's builder: run parameters, inserted nodes, spent budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias, cast

from langchain_core.runnables.config import DEFAULT_RECURSION_LIMIT
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from citeproof.agents.answer_composer import AnswerComposer
from citeproof.agents.base import LLMNode, Node
from citeproof.agents.question_reader import QuestionReader
from citeproof.agents.question_rewriter import QuestionRewriter
from citeproof.errors import SettingsError
from citeproof.graphs.finishing import finish_at
from citeproof.graphs.inputs import check_context, check_input
from citeproof.parameters import Parameters, current_parameters, override_defaults
from citeproof.state import Question
from citeproof.text import snake_case
from citeproof.tools.toolbox import Toolbox

__all__ = ["COMPOSER", "BuildOptions", "Insertions", "MethodBuilder"]

Insertions: TypeAlias = (
    Mapping[str, Any] | Mapping[tuple[str, str], Any] | Mapping[str | tuple[str, str], Any]
)
"""Name of a node → the node to insert after it; or a pair of names → the node to insert between."""

COMPOSER = "answer_composer"
"""The node that ends a method with an answer."""
STEPS = 25_000
"""Maximum number of steps in a run. Routes count rounds themselves; this catches their bugs."""


class BuildOptions(TypedDict, total=False):
    """The arguments that every graph builder takes besides the parameters of its graph."""

    checkpointer: Any
    """A LangGraph checkpointer; none by default, as the LangGraph server brings its own."""
    name: str
    """Name of the graph in traces; defaults to the name of the method."""
    insert_after: Insertions | None
    """The caller's own nodes."""


class MethodBuilder:
    """A `StateGraph` under construction.

    Args:
        tools: Models, retriever and stores; their budget applies unless the options set one, and
            their prompts replace the packaged ones.
        method: Name of the graph in traces, unless the options set one.
        schema: The graph's parameters, which nodes and routes receive.
        state: The schema of the graph's state.
        result: The schema of its output.
        options: `BuildOptions`, and new defaults for parameters.
        end: The node that ends a run whose budget is spent; without it, every error ends the
            run. A graph of graphs has none: LangGraph could resume a run that failed in a
            subgraph only at the beginning of that subgraph.
        question: The schema of its input.
        inside: Whether this is a subgraph that shares the parameters of the graph around it.

    Raises:
        SettingsError: A parameter is unknown or out of range.
    """

    def __init__(
        self,
        tools: Toolbox,
        method: str,
        schema: type[Parameters],
        state: type[Any],
        result: type[Any],
        options: Mapping[str, Any],
        *,
        end: str = COMPOSER,
        question: type[Any] = Question,
        inside: bool = False,
    ) -> None:
        own = {key: v for key, v in options.items() if key not in BuildOptions.__annotations__}
        self.schema: Any = schema if inside else override_defaults(schema, own, tools.budget)
        self.graph: StateGraph[Any, Any, Any, Any] = StateGraph(
            state, context_schema=self.schema, input_schema=question, output_schema=result
        )
        if end:
            self.graph.set_node_defaults(error_handler=finish_at(end, self.schema))
        self.tools, self._question = tools, question
        self._name = options.get("name", method)
        self._checkpointer = options.get("checkpointer")
        nodes: dict[Any, Any] = dict(options.get("insert_after") or {})
        self._inserted = {seam: _name_of(node) for seam, node in nodes.items()}
        self._unused = set(self._inserted)
        for seam, inserted in self._inserted.items():
            self.graph.add_node(inserted, nodes[seam])

    def add_composer(self, method: str, **how: Any) -> None:
        """End with an `AnswerComposer`; `how` sets its fields."""
        how |= {"answerability": self.tools.answerability, "evidence": self.tools.evidence}
        self.add_nodes({COMPOSER: AnswerComposer(method, **how)})
        self.add_edges(COMPOSER, END)

    def add_nodes(self, nodes: Mapping[str, Any]) -> None:
        """Add citeproof nodes or graphs by name."""
        for name, node in nodes.items():
            changed: dict[str, Any] = {"parameters": self.schema}
            if isinstance(node, LLMNode):
                changed["prompts"] = {**self.tools.prompts, **node.prompts}
            self.graph.add_node(name, replace(node, **changed) if isinstance(node, Node) else node)

    def add_opening(self, *targets: str, route: Callable[[Any, Any], str] | None = None) -> None:
        """Begin by reading the question; a follow-up to earlier turns is rewritten.

        Args:
            *targets: The next node, or every node that the route may return.
            route: Chooses among them, as in `add_route`.
        """
        reader, rewriter = "question_reader", "question_rewriter"
        self.add_nodes(
            {
                reader: QuestionReader(english_only=self.tools.english_only),
                rewriter: QuestionRewriter(self.tools.llm_for(rewriter)),
            }
        )

        def go_on(state: Any, parameters: Any) -> str:
            return route(state, parameters) if route else targets[0]

        def after_reading(state: Any, parameters: Any) -> str:
            return rewriter if state["follows_up"] else go_on(state, parameters)

        self.add_edges(START, reader)
        # A node inserted between the reader and the next node also follows the rewriter.
        for target in targets:
            if (reader, target) in self._inserted:
                self._inserted.setdefault((rewriter, target), self._inserted[reader, target])
        self.add_route(reader, after_reading, rewriter, *targets)
        self.add_route(rewriter, go_on, *targets)

    def add_edges(self, *nodes: str) -> None:
        """Add edges that every run takes, from each node to the next."""
        for source, target in pairwise(nodes):
            self.graph.add_edge(self._behind(source), self._between(source, target))

    def add_route(self, source: str, route: Callable[[Any, Any], str], *targets: str) -> None:
        """Add a conditional edge: the route gets state and parameters and returns a target."""
        schema = self.schema

        def path(state: Any) -> str:
            return route(state, current_parameters(schema))

        # LangGraph passes a route the keys of its annotation, by default those its node reads.
        path.__annotations__["state"] = self.graph.state_schema
        ends: dict[Any, str] = {target: self._between(source, target) for target in targets}
        self.graph.add_conditional_edges(self._behind(source), path, ends)

    def compile(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        """The compiled graph, with a recursion limit that no run reaches.

        Raises:
            SettingsError: A node is inserted after one that does not exist.
        """
        if self._unused:
            seams = ", ".join(map(str, self._unused))
            raise SettingsError(
                f"Nothing can be inserted after {seams}",
                fix=f"Nodes of this graph: {', '.join(self.graph.nodes)}.",
            )
        graph = self.graph.compile(checkpointer=self._checkpointer, name=self._name)
        return self._prepare(graph)

    def _prepare(self, graph: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
        steps = (graph.config or {}).get("recursion_limit", STEPS)
        for way in ("stream", "astream"):
            setattr(graph, way, self._checked(getattr(graph, way), steps))
        copy = graph.copy  # by which `with_config` makes a graph without the wrappers
        graph.copy = lambda update=None: self._prepare(copy(update))
        return cast("CompiledStateGraph[Any, Any, Any, Any]", graph)

    def _checked(self, stream: Callable[..., Any], steps: int) -> Callable[..., Any]:
        """A `stream` that checks its input, and takes as many steps as it needs.

        In `batch` and in chains, langchain-core passes its own default of 25 steps to the graph as
        if the caller had set it, and LangGraph's `ensure_config` takes any number for the caller's.
        Ten claims take more steps.
        """

        def checked_stream(input: Any, config: Any = None, **options: Any) -> Any:  # noqa: A002
            check_input(input, self._question, self.schema)
            check_context(options.get("context"), self.schema)
            limit = (config or {}).get("recursion_limit", DEFAULT_RECURSION_LIMIT)
            if limit == DEFAULT_RECURSION_LIMIT:
                config = {**(config or {}), "recursion_limit": steps}
            return stream(input, config, **options)

        return checked_stream

    def _behind(self, source: str) -> str:
        """The node that the outgoing edges of a node start from."""
        if source not in self._inserted:
            return source
        if source in self._unused:
            self._unused.discard(source)
            self.graph.add_edge(source, self._inserted[source])
        return self._inserted[source]

    def _between(self, source: str, target: str) -> str:
        """The node that the edge between two nodes leads to."""
        seam = (source, target)
        if seam not in self._inserted:
            return target
        if seam in self._unused:
            self._unused.discard(seam)
            self.graph.add_edge(self._inserted[seam], target)
        return self._inserted[seam]


def _name_of(node: Any) -> str:
    """A node's name in snake case, taken from its class, function or graph."""
    name = getattr(node, "__name__", "") or getattr(node, "name", "") or type(node).__name__
    return snake_case(str(name))
