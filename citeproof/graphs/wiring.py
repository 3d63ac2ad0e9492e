"""A thin layer over LangGraph's builder: run parameters, inserted nodes, spent budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from citeproof.agents.answer_composer import AnswerComposer
from citeproof.agents.base import LLMNode, Node
from citeproof.agents.question_reader import QuestionReader
from citeproof.agents.question_rewriter import QuestionRewriter
from citeproof.errors import SettingsError
from citeproof.graphs.finishing import finish_at
from citeproof.graphs.inputs import check_runs
from citeproof.graphs.insertions import Insertions, Seams
from citeproof.parameters import Parameters, current_parameters, override_defaults
from citeproof.state import Question
from citeproof.tools.toolbox import Toolbox

__all__ = ["COMPOSER", "BuildOptions", "MethodBuilder"]

COMPOSER = "answer_composer"
"""The node that ends a method with an answer."""


class BuildOptions(TypedDict, total=False):
    """The arguments that every graph builder takes besides the parameters of its graph."""

    checkpointer: Any
    """A LangGraph checkpointer; none by default, as the LangGraph server brings its own."""
    store: Any
    """A LangGraph store, for the caller's own nodes; likewise none by default."""
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
        end: The node where a run goes on whose budget is spent; without it, every error ends the
            run. A graph of graphs has none: LangGraph resumes a failed subgraph at its beginning.
        question: The schema of its input.
        inside: Whether this is a subgraph that shares the parameters of the graph around it.

    Raises:
        SettingsError: The tools are no Toolbox, a parameter is unknown or out of range, or the
            checkpointer is True.
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
        if not isinstance(tools, Toolbox):
            raise SettingsError(
                f"The graph of {method} needs a Toolbox, not a {type(tools).__name__}",
                fix="Pass Toolbox(model, retriever=…) or Toolbox.from_settings().",
            )
        if options.get("checkpointer") is True:
            raise SettingsError(
                "A graph cannot be built with checkpointer=True",
                why="inside another graph it would mix what came with earlier questions into a "
                "new one",
                fix="Leave it out, and give the outermost graph a checkpointer; `messages` of its "
                "state hold the conversation.",
            )
        own = {key: v for key, v in options.items() if key not in BuildOptions.__annotations__}
        self.schema: Any = schema if inside else override_defaults(schema, own, tools.budget)
        self.graph: StateGraph[Any, Any, Any, Any] = StateGraph(
            state, context_schema=self.schema, input_schema=question, output_schema=result
        )
        self._end = end
        self.tools, self._question = tools, question
        self._compiled = {"name": method} | {
            key: options[key] for key in ("checkpointer", "store", "name") if key in options
        }
        self._seams = Seams(self.graph, options.get("insert_after") or {})

    def add_composer(self, method: str, **how: Any) -> None:
        """End with an `AnswerComposer`; `how` sets its fields."""
        own = ("answerability", "entailment", "evidence")
        how |= {name: getattr(self.tools, name) for name in own}
        self.add_nodes({COMPOSER: AnswerComposer(method, **how)})
        self.add_edges(COMPOSER, END)

    def add_nodes(self, nodes: Mapping[str, Any]) -> None:
        """Add citeproof nodes or graphs by name.

        Raises:
            SettingsError: A node of the caller's has one of these names.
        """
        self._seams.refuse(nodes)
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
        self._seams.share(reader, rewriter, targets)
        self.add_route(reader, after_reading, rewriter, *targets)
        self.add_route(rewriter, go_on, *targets)

    def add_edges(self, *nodes: str) -> None:
        """Add edges that every run takes, from each node to the next."""
        for source, target in pairwise(nodes):
            self.graph.add_edge(self._seams.behind(source), self._seams.between(source, target))

    def add_route(self, source: str, route: Callable[[Any, Any], str], *targets: str) -> None:
        """Add a conditional edge: the route gets state and parameters and returns a target."""

        def path(state: Any) -> str:
            return route(state, current_parameters(self.schema))

        # LangGraph passes a route the keys of its annotation, by default those its node reads.
        path.__annotations__["state"] = self.graph.state_schema
        ends: dict[Any, str] = {target: self._seams.between(source, target) for target in targets}
        self.graph.add_conditional_edges(self._seams.behind(source), path, ends)

    def compile(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        """The compiled graph, with a recursion limit that no run reaches.

        Raises:
            SettingsError: A node is inserted after one that does not exist.
        """
        self._seams.check()
        if end := self._end:
            last = COMPOSER if COMPOSER in self.graph.nodes else end
            finish = finish_at(end, self.schema, behind=self._reach(end), last=last)
            self.graph.set_node_defaults(error_handler=finish)
        graph = self.graph.compile(**self._compiled)
        return check_runs(graph, self._question, self.schema)

    def _reach(self, source: str) -> set[str]:
        """The nodes to which a run may come from a node."""
        found, waiting = set[str](), [source]
        while waiting:
            node = waiting.pop()
            routes = self.graph.branches.get(node, {}).values()
            after = {target for place, target in self.graph.edges if place == node}
            after |= {target for route in routes for target in (route.ends or {}).values()}
            waiting += after - found
            found |= after
        return found
