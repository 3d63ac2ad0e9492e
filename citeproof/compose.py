"""New flows from the graphs: search with one, prove another's answer, remember what was proved.

Every graph takes a `Question` and gives an `Answer`, so graphs nest. Each function here takes a
graph and gives a graph, or tools that others are built over:

    search = build_llatrieval(tools, verify_first=True)
    draft = build_calm(retrieve_with(search, tools))
    flow = remember_with(verify_with(draft, tools, unverified="drop"), tools)
    answer = flow.invoke({"question": "Who built the lighthouse?"})["answer"]

A graph of your own nests as well, if it gives an `Answer` under the key `answer`. Inside the run
of another a graph keeps to the budget that it was built with; what it cost counts for both.
Nobody can be asked there: the review of a proof is for the outermost graph.
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.answer_composer import AnswerComposer
from citeproof.agents.answer_keeper import AnswerKeeper
from citeproof.agents.claim_feeder import ClaimFeeder
from citeproof.agents.delegate import Delegate
from citeproof.agents.drafter import Drafter
from citeproof.errors import SettingsError
from citeproof.graphs.proof import ENTRANCES, ProofParameters, add_proof, begin, entrance
from citeproof.graphs.wiring import Parameters, add_node, add_route, compiled, fixed
from citeproof.state import KeptResult, KeptState, ProvedState, Question, Result
from citeproof.tools.llatrieval_retriever import LLatrievalRetriever
from citeproof.tools.toolbox import Toolbox

__all__ = ["KeepingParameters", "remember_with", "retrieve_with", "verify_with"]

ProvedGraph: TypeAlias = CompiledStateGraph[ProvedState, Any, Question, Result]
KeptGraph: TypeAlias = CompiledStateGraph[KeptState, Any, Question, KeptResult]


class KeepingParameters(Parameters):
    """The knobs of `remember_with`."""

    namespace: str = Field(default="", pattern=r"^[\w.-]{0,64}$")
    """Part of the memory bank that is written; empty for the one of the settings."""


def retrieve_with(search: Any, tools: Toolbox) -> Toolbox:
    """The tools, with LLatrieval for a retriever.

    What is built over them searches with it, and reads what it has chosen; the evidence finder of
    a proof does as well, for every claim that fails.

    Args:
        search: What `build_llatrieval` gives.
        tools: The tools; they are left as they are.
    """
    return tools.over(LLatrievalRetriever(graph=search))


def verify_with(
    draft: Any, tools: Toolbox, *, checkpointer: Any = None, name: str = "", **parameters: Any
) -> ProvedGraph:
    """A graph that proves the claims of another's answer, as VTG does with its own.

    Each claim is checked against what it cites, then against all that the answer cites; where
    both fail, evidence is looked for, and the claim is checked again. Citations are trimmed to
    what is needed, and a claim that other passages prove cites these.

    Args:
        draft: Any graph from a `Question` to a `Result`.
        tools: What proves: entailment model, retriever for new evidence, language model for the
            queries.
        checkpointer: A LangGraph checkpointer; none by default.
        name: The graph's name, in traces and answers; by default that of the draft's graph with
            `+proof`.
        **parameters: Fields of `ProofParameters`.

    Raises:
        SettingsError: A parameter is unknown or out of range, or the draft is to be reviewed.
    """
    _refuse_review(draft)
    _refuse_names(draft)
    name = name or f"{draft.name}+proof"
    schema = fixed(ProofParameters, parameters, tools.budget)
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(
        ProvedState, context_schema=schema, input_schema=Question, output_schema=Result
    )
    end, writer = "answer_composer", "claim_feeder"
    add_node(builder, "drafter", Drafter(draft), schema, begins=True)
    add_node(builder, writer, ClaimFeeder(), schema)
    add_node(builder, end, AnswerComposer(name, evidence=tools.evidence), schema)
    add_proof(builder, tools, schema, writers=[writer], end=end)

    edges = partial(add_route, builder, schema, end)
    begin(builder, schema, "drafter")
    edges("drafter", lambda *_: writer, writer)
    edges(writer, _after_claim_feeder, *ENTRANCES)
    edges("claim_acceptor", lambda *_: writer, writer)
    builder.add_edge(end, END)

    return compiled(builder, checkpointer=checkpointer, name=name, steps=25_000)


def remember_with(
    graph: Any, tools: Toolbox, *, checkpointer: Any = None, name: str = "", **parameters: Any
) -> KeptGraph:
    """A graph that keeps another's answer in the memory bank where all of it is supported.

    R²-MGA and the composed flow then show it as a demonstration. The result holds `case_id`
    beside the answer; it is empty where nothing was kept, as of an answer that is partial, or
    inside the run of another graph, which has an answer of its own.

    Args:
        graph: Any graph from a `Question` to a `Result` whose claims have verdicts.
        tools: Tools with a memory bank.
        checkpointer: A LangGraph checkpointer; none by default.
        name: The graph's name in traces; by default that of the graph with `+memory`.
        **parameters: Fields of `KeepingParameters`.

    Raises:
        SettingsError: The tools have no memory bank, a parameter is unknown or out of range, or
            the answer is to be reviewed.
    """
    _refuse_review(graph)
    _refuse_names(graph)
    if tools.bank is None:
        raise SettingsError(
            "There is no memory bank to remember with",
            fix="Give Toolbox a bank, or use Toolbox.from_settings().",
        )
    schema = fixed(KeepingParameters, parameters, tools.budget)
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(
        KeptState, context_schema=schema, input_schema=Question, output_schema=KeptResult
    )
    add_node(builder, "delegate", Delegate(graph), schema, begins=True)
    add_node(builder, "answer_keeper", AnswerKeeper(tools.bank), schema)
    builder.add_edge(START, "delegate")
    builder.add_edge("delegate", "answer_keeper")
    builder.add_edge("answer_keeper", END)
    name = name or f"{graph.name}+memory"
    return compiled(builder, checkpointer=checkpointer, name=name, steps=200)


def _refuse_review(inner: Any) -> None:
    schema: Any = getattr(inner, "context_schema", None)
    if isinstance(schema, type) and issubclass(schema, ProofParameters) and schema().review:
        raise SettingsError(
            f"The graph {inner.name} cannot be part of another while its claims are reviewed",
            why="it has no checkpointer there, and could not wait",
            fix="Build it without review; verify_with(…, review=True) reviews what it answers.",
        )


def _refuse_names(inner: Any) -> None:
    schema: Any = getattr(inner, "context_schema", None)
    ours = isinstance(schema, type) and issubclass(schema, Parameters)
    field = schema.model_fields.get("form") if ours else None
    if field is not None and (form := field.default) != "prose":
        raise SettingsError(
            f"The graph {inner.name} cannot be part of another while its answers are no sentences",
            why=f"it is built with form={form!r}, and a name by itself states nothing",
            fix="Build it with form='prose'.",
        )


def _after_claim_feeder(state: ProvedState, parameters: ProofParameters) -> str:
    return "answer_composer" if state["draft"] is None else entrance(state, parameters)
