"""Combines graphs: search with one, prove the answer of another, remember what was proved.

Every graph takes a `Question` and returns an `Answer`, so graphs nest. Each function here takes a
graph and returns a graph, or tools to build other graphs with:

    search = build_llatrieval(tools, verify_first=True)
    draft = build_calm(retrieve_with(search, tools))
    flow = remember_with(verify_with(draft, tools, unverified="drop"), tools)
    answer = flow.invoke({"question": "Who built the lighthouse?"})["answer"]

Your own graphs nest too if they return an `Answer` under the key `answer`. Inside the run of
another graph, a graph observes its own budget and that of the run, and its cost counts towards
both. The answer of a node called `draft` is a draft: it is neither recorded nor remembered.
"""

from __future__ import annotations

from typing import Any, TypeAlias, Unpack

from langchain_core.runnables import Runnable
from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.case_recorder import CaseRecorder
from citeproof.agents.claim_generator import DraftReader
from citeproof.errors import SettingsError
from citeproof.graphs.llatrieval import LLatrievalParameters
from citeproof.graphs.options import KeepingOptions, ProofOptions
from citeproof.graphs.proof import ProofParameters, proof_graph
from citeproof.graphs.wiring import COMPOSER, MethodBuilder
from citeproof.parameters import Parameters
from citeproof.state import KeptResult, KeptState, ProvedState, Result
from citeproof.tools.retrieval.llatrieval_retriever import LLatrievalRetriever
from citeproof.tools.toolbox import Toolbox

__all__ = ["KeepingParameters", "remember_with", "retrieve_with", "verify_with"]

ProvedGraph: TypeAlias = CompiledStateGraph[ProvedState, Any, Any, Result]
KeptGraph: TypeAlias = CompiledStateGraph[KeptState, Any, Any, KeptResult]


class KeepingParameters(Parameters):
    """The parameters of `remember_with`."""

    namespace: str = Field(default="", pattern=r"^[\w.-]{0,64}$")
    """Part of the memory bank to write to; if empty, the one in the settings."""


def retrieve_with(search: Any, tools: Toolbox) -> Toolbox:
    """Return the tools with LLatrieval as their retriever.

    Graphs built with these tools search with LLatrieval and read the passages that it chooses. So
    does the evidence finder of a proof, for every claim that fails.

    Args:
        search: The graph from `build_llatrieval`.
        tools: The tools; they are not modified.

    Raises:
        SettingsError: It is another graph.
    """
    schema = getattr(search, "context_schema", None)
    if not (isinstance(schema, type) and issubclass(schema, LLatrievalParameters)):
        raise SettingsError(
            f"{_name_of(search)} cannot choose passages", fix="Pass a graph of build_llatrieval."
        )
    return tools.over(LLatrievalRetriever(graph=search))


def verify_with(draft: Any, tools: Toolbox, **options: Unpack[ProofOptions]) -> ProvedGraph:
    """Return a graph that proves the claims of another graph's answer, as VTG proves its own.

    Each claim is checked against the passages it cites, then against all passages that the answer
    cites. If both fail, the graph searches for new evidence and checks the claim again. Citations
    are trimmed to the necessary ones, and a claim that other passages prove cites these.

    Args:
        draft: Any graph from a `Question` to a `Result`.
        tools: The entailment model that proves, the retriever of new evidence, and the language
            model that writes the queries.
        **options: As in `build_vtg`. The name of the graph, in traces and answers, defaults to
            that of the draft's graph with `+proof`. Your own nodes go inside the proof. Parameters
            are fields of `ProofParameters`.

    Raises:
        SettingsError: A parameter is unknown or out of range.
    """
    _refuse_names(draft)
    name = options.get("name") or f"{_name_of(draft)}+proof"
    own: dict[str, Any] = {**options, "name": name}
    inserted: ProofOptions = {"insert_after": own.pop("insert_after", None)}
    builder = MethodBuilder(tools, name, ProofParameters, ProvedState, Result, own, end="")
    builder.add_nodes(
        {
            "draft": draft,
            "draft_reader": DraftReader(),
            "proof": proof_graph(tools, builder.schema, inserted, inside=True),
        }
    )
    builder.add_opening("draft")
    builder.add_edges("draft", "draft_reader", "proof", COMPOSER)
    builder.add_composer(name, announce=False)
    return builder.compile()


def remember_with(graph: Any, tools: Toolbox, **options: Unpack[KeepingOptions]) -> KeptGraph:
    """Return a graph that keeps another graph's answer in the memory bank if it is fully supported.

    R²-MGA and the composed flow then show the answer as a demonstration. Besides the answer, the
    result holds `case_id`, which is empty if nothing was kept, as for a partial answer or a draft
    for another graph.

    Args:
        graph: Any graph from a `Question` to a `Result` whose claims have verdicts.
        tools: Tools with a memory bank.
        **options: As in `build_vtg`. The name of the graph in traces defaults to that of the inner
            graph with `+memory`. Parameters are fields of `KeepingParameters`.

    Raises:
        SettingsError: The tools have no memory bank, or a parameter is unknown or out of range.
    """
    _refuse_names(graph)
    if tools.bank is None:
        raise SettingsError(
            "There is no memory bank to remember with",
            fix="Give Toolbox a bank, or use Toolbox.from_settings().",
        )
    own: dict[str, Any] = {**options, "name": options.get("name") or f"{_name_of(graph)}+memory"}
    builder = MethodBuilder(tools, "", KeepingParameters, KeptState, KeptResult, own, end="")
    builder.add_nodes({"answer": graph, "case_recorder": CaseRecorder(tools.bank)})
    builder.add_opening("answer")
    builder.add_edges("answer", "case_recorder", END)
    return builder.compile()


def _name_of(graph: Any) -> str:
    if not isinstance(graph, Runnable):
        raise SettingsError(
            f"A {type(graph).__name__} is not a graph",
            fix="Pass a compiled graph, as build_vtg(tools) or builder.compile() returns it.",
        )
    return graph.get_name()


def _refuse_names(inner: Any) -> None:
    schema: Any = getattr(inner, "context_schema", None)
    ours = isinstance(schema, type) and issubclass(schema, Parameters)
    field = schema.model_fields.get("form") if ours else None
    if field is not None and (form := field.default) != "prose":
        raise SettingsError(
            f"The graph {inner.name} cannot be part of another, as its answers are not sentences",
            why=f"it is built with form={form!r}, and a name by itself states nothing",
            fix="Build it with form='prose'.",
        )
