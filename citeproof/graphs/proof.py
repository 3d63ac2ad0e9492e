"""The proof of a claim as a part of graphs: VTG's two-tier verifier, evidence finder, simplifier.

Sun et al., "Towards Verifiable Text Generation with Evolving Memory and Self-Reflection",
Algorithm 1, lines 9 to 24. A writer hands in a draft with its citations; the draft comes back as a
claim that is accepted, or to be written anew over other evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from langgraph.graph import START, StateGraph
from pydantic import Field

from citeproof.agents.claim_acceptor import ClaimAcceptor
from citeproof.agents.evidence_finder import EvidenceFinder
from citeproof.agents.generation_verifier import GenerationVerifier
from citeproof.agents.memory_verifier import MemoryVerifier
from citeproof.agents.reviewer import Reviewer, resumable
from citeproof.agents.simplifier import Simplifier
from citeproof.graphs.wiring import Node, Parameters, add_node, add_route, in_force
from citeproof.state import DraftState
from citeproof.tools.toolbox import Toolbox

__all__ = ["ENTRANCES", "ProofParameters", "add_proof", "begin", "entrance"]

ENTRANCES = ("generation_verifier", "claim_acceptor")
"""The nodes that a draft may be handed to; `entrance` says which."""


class ProofParameters(Parameters):
    """The knobs of a proof."""

    max_trials: int = Field(default=2, ge=0, le=20)
    """T: a claim that failed more than T times before is accepted unverified at its next
    failure, so T = 1 allows three trials (Algorithm 1, line 21, read literally)."""
    queries: int = Field(default=2, ge=1, le=10)
    """M: most queries of the evidence finder for one claim."""
    passages_per_query: int = Field(default=2, ge=1, le=20)
    """N: passages that the evidence finder fetches for each query."""
    unverified: Literal["keep", "flag", "drop"] = "flag"
    """What happens to a claim that could not be verified."""
    review: bool = False
    """True interrupts the run at such a claim, and a person approves, edits or drops it. Needs a
    checkpointer."""
    verify: bool = True
    """False leaves the two-tier verifier out (ablation, Table 3), and with it the simplifier, which
    trims the citations of proved claims only."""
    memory: bool = True
    """False keeps the memory as first retrieved (ablation, Table 3)."""
    simplify: bool = True
    """False leaves the citation simplifier out (ablation, Table 3)."""
    diverse_queries: bool = True
    """False searches for the claim itself (ablation, Table 3)."""


def add_proof(
    builder: StateGraph[Any, Any, Any, Any],
    tools: Toolbox,
    schema: type[ProofParameters],
    *,
    writers: Sequence[str],
    end: str,
    writer: Callable[[Any], str] | None = None,
) -> None:
    """Add the nodes from `generation_verifier` to `claim_acceptor`, and the edges among them.

    The edges into `ENTRANCES` and out of `claim_acceptor` are left to the graph. One that starts
    with `begin` refuses at once a review that it could not resume, others when they come to it.

    Args:
        builder: The graph under construction; its state is a `DraftState`.
        tools: Models and retriever.
        schema: The graph's parameters.
        writers: The nodes that offer drafts.
        end: The node that composes the answer.
        writer: Which of them offers a draft again, perhaps in other words, where it failed; by
            default the first.
    """
    nodes: dict[str, Node[Any]] = {
        "generation_verifier": GenerationVerifier(tools.entailment),
        "memory_verifier": MemoryVerifier(tools.entailment),
        "simplifier": Simplifier(tools.entailment),
        "evidence_finder": EvidenceFinder(tools.llm_for("evidence_finder"), tools.retriever),
        "reviewer": Reviewer(),
        "claim_acceptor": ClaimAcceptor(),
    }
    for name, node in nodes.items():
        add_node(builder, name, node, schema)

    def again(state: DraftState) -> str:
        return writer(state) if writer else writers[0]

    def after_memory_verifier(state: DraftState, parameters: ProofParameters) -> str:
        if _supported(state):
            return _accepting(parameters)
        failed_before = len(state["rejected"]) - 1
        if failed_before > parameters.max_trials:
            return "reviewer" if parameters.review else "claim_acceptor"
        return "evidence_finder" if parameters.memory else again(state)

    edges = partial(add_route, builder, schema, end)
    edges(
        "generation_verifier",
        _after_generation_verifier,
        "simplifier",
        "claim_acceptor",
        "memory_verifier",
    )
    edges(
        "memory_verifier",
        after_memory_verifier,
        "simplifier",
        "claim_acceptor",
        "reviewer",
        "evidence_finder",
        *writers,
    )
    edges("reviewer", _after_reviewer, *ENTRANCES)
    edges("evidence_finder", lambda state, _: again(state), *writers)
    edges("simplifier", lambda *_: "claim_acceptor", "claim_acceptor")


def begin(
    builder: StateGraph[Any, Any, Any, Any], schema: type[ProofParameters], first: str
) -> None:
    """Start a graph at its first node; a review that could not be resumed is refused before it.

    Args:
        builder: The graph under construction.
        schema: Its parameters.
        first: The node to start at.
    """

    def path(_: Any) -> str:
        if in_force(schema).review:
            resumable()
        return first

    builder.add_conditional_edges(START, path, [first])


def entrance(_: DraftState, parameters: ProofParameters) -> str:
    """Where a draft enters the proof; a route to one of `ENTRANCES`."""
    return "generation_verifier" if parameters.verify else "claim_acceptor"


def _after_generation_verifier(state: DraftState, parameters: ProofParameters) -> str:
    return _accepting(parameters) if _supported(state) else "memory_verifier"


def _after_reviewer(state: DraftState, _: ProofParameters) -> str:
    is_decided = state["draft"] is None or state["draft"].decision is not None
    return "claim_acceptor" if is_decided else "generation_verifier"


def _accepting(parameters: ProofParameters) -> str:
    return "simplifier" if parameters.simplify else "claim_acceptor"


def _supported(state: DraftState) -> bool:
    draft = state["draft"]
    return draft is not None and draft.verdict is not None and draft.verdict.status == "supported"
