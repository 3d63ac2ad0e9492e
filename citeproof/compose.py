"""New flows from the graphs: search with one, prove another's answer, remember what was proved.

Every graph takes a `Question` and gives an `Answer`, so graphs nest. Each function here takes a
graph and gives a graph, or tools that others are built over:

    search = build_llatrieval(tools, verify_first=True)
    draft = build_calm(retrieve_with(search, tools))
    flow = remember_with(verify_with(draft, tools, unverified="drop"), tools)
    answer = flow.invoke({"question": "Who built the lighthouse?"})["answer"]

A graph of your own nests as well, if it gives an `Answer` under the key `answer`. Inside another
graph's run, a graph keeps to its own budget and to that of the run; its cost counts towards both.
The answer of a node called `draft` is a draft: it is neither recorded nor remembered.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeAlias, Unpack

from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.case_recorder import CaseRecorder
from citeproof.agents.claim_source import DraftReader
from citeproof.errors import SettingsError
from citeproof.graphs.options import KeepingOptions, ProofOptions
from citeproof.graphs.proof import ProofParameters, proof_inside
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
    """Part of the memory bank that is written; empty for the one of the settings."""


def retrieve_with(search: Any, tools: Toolbox) -> Toolbox:
    """The tools, with LLatrieval as their retriever.

    Graphs built from them search with it and read the passages that it chooses; so does a proof's
    evidence finder, for every claim that fails.

    Args:
        search: The graph of `build_llatrieval`.
        tools: The tools; they are not changed.
    """
    return tools.over(LLatrievalRetriever(graph=search))


def verify_with(draft: Any, tools: Toolbox, **options: Unpack[ProofOptions]) -> ProvedGraph:
    """A graph that proves the claims of another's answer, as VTG does with its own.

    Each claim is checked against the passages it cites, then against all that the answer cites;
    if both fail, new evidence is searched for, and the claim is checked again. Citations are
    trimmed to those that are needed, and a claim that other passages prove cites these.

    Args:
        draft: Any graph from a `Question` to a `Result`.
        tools: The entailment model that proves, the retriever of new evidence, and the language
            model that writes the queries.
        **options: As in `build_vtg`. The graph's name, in traces and answers, is by default that
            of the draft's graph with `+proof`; nodes of your own go inside the proof; parameters
            are fields of `ProofParameters`.

    Raises:
        SettingsError: A parameter is unknown or out of range.
    """
    _refuse_names(draft)
    name = options.get("name") or f"{draft.name}+proof"
    own: dict[str, Any] = {**options, "name": name, "insert_after": None}
    builder = MethodBuilder(tools, name, ProofParameters, ProvedState, Result, own, end="")
    builder.add_nodes(
        {
            "draft": draft,
            "draft_reader": DraftReader(),
            "proof": proof_inside(tools, builder.schema, options.get("insert_after")),
        }
    )
    builder.add_opening("draft")
    for source, target in pairwise(("draft", "draft_reader", "proof", COMPOSER)):
        builder.add_edge(source, target)
    builder.add_composer(name, announce=False)
    return builder.compile()


def remember_with(graph: Any, tools: Toolbox, **options: Unpack[KeepingOptions]) -> KeptGraph:
    """A graph that keeps another's answer in the memory bank if all of it is supported.

    R²-MGA and the composed flow then show it as a demonstration. The result holds `case_id` beside
    the answer; it is empty if nothing was kept, as for a partial answer, or a draft for another
    graph.

    Args:
        graph: Any graph from a `Question` to a `Result` whose claims have verdicts.
        tools: Tools with a memory bank.
        **options: As in `build_vtg`. The graph's name in traces is by default that of the graph
            with `+memory`; parameters are fields of `KeepingParameters`.

    Raises:
        SettingsError: The tools have no memory bank, or a parameter is unknown or out of range.
    """
    _refuse_names(graph)
    if tools.bank is None:
        raise SettingsError(
            "There is no memory bank to remember with",
            fix="Give Toolbox a bank, or use Toolbox.from_settings().",
        )
    own: dict[str, Any] = {**options, "name": options.get("name") or f"{graph.name}+memory"}
    builder = MethodBuilder(tools, "", KeepingParameters, KeptState, KeptResult, own, end="")
    builder.add_nodes({"answer": graph, "case_recorder": CaseRecorder(tools.bank)})
    builder.add_opening("answer")
    for source, target in pairwise(("answer", "case_recorder", END)):
        builder.add_edge(source, target)
    return builder.compile()


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
