"""The proof: VTG's two-tier verifier, evidence finder and simplifier, alone or inside a method.

Sun et al., "Towards Verifiable Text Generation with Evolving Memory and Self-Reflection", Algorithm
1, lines 9 to 24. Methods that write claim by claim add these nodes to their own graph
(`add_proof`): a run is then a single graph and resumes at the node that failed. `build_proof`
builds a graph that proves existing claims, for use inside any other graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, Unpack

from langgraph.graph import END, START
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.claim_acceptor import ClaimAcceptor, Reviewer
from citeproof.agents.claim_generator import ClaimSource
from citeproof.agents.evidence_finder import EvidenceFinder
from citeproof.agents.generation_verifier import GenerationVerifier, MemoryVerifier
from citeproof.agents.quoter import Quoter
from citeproof.agents.simplifier import Simplifier
from citeproof.graphs.options import ProofOptions
from citeproof.graphs.wiring import MethodBuilder
from citeproof.parameters import Parameters
from citeproof.state import DraftState, ProofInput, ProofResult, ProvedState
from citeproof.tools.entailment import Premise
from citeproof.tools.toolbox import Toolbox

__all__ = [
    "ENTRANCES",
    "ProofParameters",
    "add_proof",
    "build_proof",
    "enter_proof",
    "proof_graph",
]

Graph: TypeAlias = CompiledStateGraph[ProvedState, Any, ProofInput, ProofResult]

ENTRANCES = ("generation_verifier", "claim_acceptor")
"""The nodes where a draft may enter; `enter_proof` chooses one."""
_SOURCE = "claim_source"
"""The writer that drafts given claims, which no trial changes."""


class ProofParameters(Parameters):
    """The parameters of a proof."""

    max_trials: int = Field(default=0, ge=0, le=20)
    """T: a claim that has already failed more than T times is accepted unverified at its next
    failure, so T = 0 allows two trials (Algorithm 1, line 21, read literally). More trials may pay
    off with a large writer; with the embedded one, none of 15 third trials proved its claim."""
    queries: int = Field(default=2, ge=1, le=10)
    """M: maximum number of queries that the evidence finder writes for a claim."""
    passages_per_query: int = Field(default=2, ge=1, le=20)
    """N: number of passages that the evidence finder fetches for each query."""
    unverified: Literal["keep", "flag", "drop"] = "flag"
    """What to do with a claim that could not be verified."""
    review: bool = False
    """True interrupts the run at an unverified claim, which a person then approves, edits or drops.
    Needs a checkpointer."""
    verify: bool = True
    """False leaves out the two-tier verifier (ablation, Table 3), and with it the simplifier, which
    only trims the citations of proved claims."""
    memory: bool = True
    """False keeps the memory as first retrieved (ablation, Table 3)."""
    simplify: bool = True
    """False leaves out the citation simplifier (ablation, Table 3)."""
    diverse_queries: bool = True
    """False searches for the claim itself (ablation, Table 3)."""
    premise: Premise = "fewest"
    """`fewest`: the fewest passages that entail a claim prove it, three at most. `whole`: all the
    passages that the claim cites form one premise, as does the whole memory; the simplifier then
    drops each passage in turn if the others still entail the claim (section 2.3, Citation
    Simplifier)."""
    queries_from_passages: bool = True
    """False writes the evidence finder's queries from question, text and claim alone (appendix E,
    Prompt for Query Generation)."""
    quote_below: float = Field(default=0.0, ge=0.0, le=1.0)
    """A claim that scores lower is replaced by a verbatim sentence of the passage it cites, if that
    sentence answers the question. A claim that tells how ("To …, do this") stays from 78% of this
    value on. A failed claim is replaced too, unless a person reviews it; one with less than half of
    this value only by a sentence with its words that surely answers, by a row of a table, or by a
    sentence with its numbers or names in code. What a person wrote stays. 0 turns quoting off."""


def build_proof(tools: Toolbox, **options: Unpack[ProofOptions]) -> Graph:
    """The compiled graph of a proof, for use alone or inside any other graph.

    It reads `question`, `passages` and `given`, the claims to prove with their citations. In the
    result, `claims` holds the claims with verdicts, their citations trimmed to the necessary ones
    or replaced by those that prove them, and `dropped` holds the claims that were left out. For
    arguments and errors, see `build_vtg`; the parameters are fields of `ProofParameters`.
    """
    return proof_graph(tools, ProofParameters, options)


def proof_graph(
    tools: Toolbox, schema: type[ProofParameters], options: ProofOptions, *, inside: bool = False
) -> Graph:
    """The graph of `build_proof`; `inside` another one, whose parameters it then shares."""
    builder = MethodBuilder(
        tools,
        "proof",
        schema,
        ProvedState,
        ProofResult,
        options,
        end="claim_acceptor",  # the claim stays, and later ones may be proved without a call
        question=ProofInput,
        inside=inside,
    )
    builder.add_nodes({_SOURCE: ClaimSource()})
    add_proof(builder, writers=[_SOURCE])
    builder.add_edges(START, _SOURCE)
    builder.add_route(_SOURCE, _after_claim_source, *ENTRANCES, END)
    builder.add_edges("claim_acceptor", _SOURCE)
    return builder.compile()


def add_proof(
    builder: MethodBuilder, *, writers: Sequence[str], writer: Callable[[Any], str] | None = None
) -> None:
    """Add the nodes from `generation_verifier` to `claim_acceptor`, and the edges among them.

    The method adds the edges into `ENTRANCES` and out of `claim_acceptor`.

    Args:
        builder: The graph under construction; its state is a `DraftState`.
        writers: The nodes that write drafts.
        writer: Chooses the writer that retries a failed draft; defaults to the first.
    """
    tools = builder.tools
    builder.add_nodes(
        {
            "generation_verifier": GenerationVerifier(tools.entailment),
            "memory_verifier": MemoryVerifier(tools.entailment),
            "simplifier": Simplifier(tools.entailment),
            "quoter": Quoter(tools.answerability),
            "evidence_finder": EvidenceFinder(tools.llm_for("evidence_finder"), tools.retriever),
            "reviewer": Reviewer(),
            "claim_acceptor": ClaimAcceptor(),
        }
    )

    def write(state: DraftState, _: ProofParameters) -> str:
        return writer(state) if writer else writers[0]

    def try_again(state: DraftState, parameters: ProofParameters) -> str:
        return "evidence_finder" if parameters.memory else write(state, parameters)

    def after_evidence_finder(state: DraftState, parameters: ProofParameters) -> str:
        next_writer = write(state, parameters)
        if next_writer == _SOURCE and state.get("stop"):  # claim and memory would stay the same
            return "reviewer" if parameters.review else "claim_acceptor"
        return next_writer

    def after_memory_verifier(state: DraftState, parameters: ProofParameters) -> str:
        if _is_decided(state):
            return _accept(parameters)
        if not parameters.review:
            return "quoter"  # a quote costs no call, and another trial two
        return "reviewer" if _is_last_trial(state, parameters) else try_again(state, parameters)

    def after_quoter(state: DraftState, parameters: ProofParameters) -> str:
        if _is_decided(state) or parameters.review or _is_last_trial(state, parameters):
            return "claim_acceptor"
        return try_again(state, parameters)

    retries = ("evidence_finder", *writers)
    accepted = ("simplifier", "quoter")
    builder.add_route(
        "generation_verifier", _after_generation_verifier, *accepted, "memory_verifier"
    )
    builder.add_route("memory_verifier", after_memory_verifier, *accepted, "reviewer", *retries)
    builder.add_route("reviewer", _after_reviewer, *ENTRANCES)
    stopped = ("reviewer", "claim_acceptor") if _SOURCE in writers else ()
    builder.add_route("evidence_finder", after_evidence_finder, *writers, *stopped)
    builder.add_edges("simplifier", "quoter")
    builder.add_route("quoter", after_quoter, "claim_acceptor", *retries)


def enter_proof(_: Any, parameters: ProofParameters) -> str:
    """A route to the node of `ENTRANCES` where a draft enters the proof."""
    return "generation_verifier" if parameters.verify else "claim_acceptor"


def _after_claim_source(state: DraftState, parameters: ProofParameters) -> str:
    return END if state.get("draft") is None else enter_proof(state, parameters)


def _after_generation_verifier(state: DraftState, parameters: ProofParameters) -> str:
    return _accept(parameters) if _is_decided(state) else "memory_verifier"


def _after_reviewer(state: DraftState, _: ProofParameters) -> str:
    draft = state.get("draft")
    is_decided = draft is None or draft.decision is not None
    return "claim_acceptor" if is_decided else "generation_verifier"


def _accept(parameters: ProofParameters) -> str:
    return "simplifier" if parameters.simplify else "quoter"


def _is_last_trial(state: DraftState, parameters: ProofParameters) -> bool:
    failed_before = len(state["rejected"]) - 1
    return failed_before > parameters.max_trials


def _is_decided(state: DraftState) -> bool:
    """Whether verification is over: the draft is proved, or the verifier is unreachable."""
    draft = state.get("draft")
    return draft is not None and draft.verdict is not None and not draft.verdict.failed
