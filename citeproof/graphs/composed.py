"""The composed flow: what LLatrieval, R²-MGA and VTG do best, in one graph.

LLatrieval finds passages that suffice (Li et al., Algorithm 1). The best-matched past case
demonstrates how such a question is answered (R²-MGA, Ji et al.). VTG writes and proves the answer
claim by claim (Sun et al., Algorithm 1). An assessment decides on one refinement, whose claims are
proved as well, and which stands only if no less of it is proved. Answers that are proved become
cases.
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias, Unpack

from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.assessor import Assess, Assessor, ClaimsAssessor
from citeproof.agents.case_recorder import CaseRecorder
from citeproof.agents.claim_source import ClaimSource
from citeproof.agents.demonstrator import Demonstrator
from citeproof.agents.planner import Planner
from citeproof.agents.refiner import DraftRefiner, RefinementSelector
from citeproof.agents.retrieval_stage import RetrievalStage
from citeproof.graphs.llatrieval import build_llatrieval
from citeproof.graphs.options import ComposedOptions
from citeproof.graphs.proof import ENTRANCES, add_proof, enter_proof
from citeproof.graphs.vtg import VTGParameters, writing_nodes
from citeproof.graphs.wiring import COMPOSER, MethodBuilder
from citeproof.state import ComposedResult, ComposedState, QuestionInput, last_round
from citeproof.tools.toolbox import Toolbox

__all__ = ["ComposedParameters", "build_composed"]

Graph: TypeAlias = CompiledStateGraph[ComposedState, Any, QuestionInput, ComposedResult]

METHOD = "composed"


class ComposedParameters(VTGParameters):
    """The parameters of the composed flow: those of VTG, and these."""

    ranked: bool = False
    """Without `search`: True takes the first k of the documents that come with a question."""
    search: bool = True
    """False retrieves k passages without asking whether they suffice."""
    search_rounds: int = Field(default=2, ge=1, le=20)
    """T of LLatrieval: most queries. Where the first k passages suffice, no other is read."""
    candidates: int = Field(default=20, ge=1, le=100)
    """N of LLatrieval: passages that are found for a query, and chosen from in one window."""
    summarize: bool = False
    """True lets LLatrieval choose by summaries, as its paper does."""
    demonstrate: bool = True
    """False writes without an example."""
    best_match: bool = True
    """False always shows the built-in example."""
    rationale: bool = True
    """False shows examples without the reasons for what was decided there."""
    refine: bool = True
    """False ends with the first answer, which is not assessed and leaves no case."""
    assess: Assess = "nli"
    """The assessor of the answer: the entailment model, which finds what is still not proved or not
    rightly cited, or the language model (`llm`), which judges also whether it is complete."""
    remember: bool = True
    """False reads the memory bank, and writes nothing to it."""
    namespace: str = Field(default="", pattern=r"^[\w.-]{0,64}$")
    """Part of the memory bank that is read and written; empty for the one of the settings."""
    least_score: float = Field(default=1.0, gt=0.0, le=1.0)
    """The least share of supported claims at which an answer is kept as a case."""
    answer_tokens: int = Field(default=300, ge=16, le=4000)
    """Longest refined answer."""


def build_composed(tools: Toolbox, **options: Unpack[ComposedOptions]) -> Graph:
    """The compiled graph of the composed flow.

    The result holds, beside the answer, `retrieval` (what LLatrieval chose, and whether it was
    found to suffice), `rounds` (the assessment, and what was planned upon it) and `case_id`.

    Without a bank in the tools built-in examples are shown, and nothing is kept. For arguments
    and errors see `build_vtg`; the parameters are fields of `ComposedParameters`.
    """
    asks = tools.answerability is not None
    reflecting, bank = tools.llm_for("demonstrator"), tools.bank
    # Names are taken out of the sentences at the very end.
    prose: dict[str, Any] = {"fixed": ("form",)}
    search, end = build_llatrieval(tools), "refinement_selector"
    builder = MethodBuilder(
        tools, METHOD, ComposedParameters, ComposedState, ComposedResult, options, end=end
    )
    builder.add_nodes(
        {
            "retrieval_stage": RetrievalStage(search, tools.retriever),
            **writing_nodes(tools),
            "generation_demonstrator": Demonstrator(reflecting, bank, "generation", **prose),
            "assessment_demonstrator": Demonstrator(reflecting, bank, "assessment", **prose),
            "assessor": Assessor(tools.llm_for("assessor"), **prose),
            "claims_assessor": ClaimsAssessor(tools.entailment, **prose),
            "planning_demonstrator": Demonstrator(reflecting, bank, "planning", **prose),
            "planner": Planner(tools.llm_for("planner"), **prose),
            "draft_refiner": DraftRefiner(tools.llm_for("refiner")),
            "claim_source": ClaimSource(),
            end: RefinementSelector(),
            "case_recorder": CaseRecorder(bank, gate="nli", method=METHOD, **prose),
        }
    )
    add_proof(builder, writers=["claim_generator", "claim_source"], writer=_writer)

    writer = "claim_generator"
    assessments = ("assessment_demonstrator", "claims_assessor", end)
    builder.add_opening("retrieval_stage")
    first = ("generation_demonstrator", writer, end)
    builder.add_route(
        "retrieval_stage", partial(_after_retrieval_stage, asks), "answerability_verifier", *first
    )
    builder.add_route("answerability_verifier", partial(_after_retrieval_stage, False), *first)
    builder.add_edge("generation_demonstrator", writer)
    builder.add_route(writer, _after_claim_generator, "citation_generator", *assessments)
    builder.add_route("citation_generator", enter_proof, *ENTRANCES)
    builder.add_route("claim_acceptor", _after_claim_acceptor, writer, "claim_source", *assessments)
    builder.add_edge("assessment_demonstrator", "assessor")
    builder.add_route("assessor", _after_assessor, "planning_demonstrator", end)
    builder.add_route("claims_assessor", _after_assessor, "planning_demonstrator", end)
    builder.add_edge("planning_demonstrator", "planner")
    builder.add_route("planner", _after_planner, "draft_refiner", end)
    builder.add_route("draft_refiner", _after_draft_refiner, "claim_source", end)
    builder.add_route("claim_source", _after_claim_source, *ENTRANCES, end)
    builder.add_edge(end, "case_recorder")
    builder.add_route("case_recorder", _after_case_recorder, "answerer", COMPOSER)
    builder.add_edge("answerer", COMPOSER)
    builder.add_composer(METHOD, announce=False)
    return builder.compile()


def _writer(state: ComposedState) -> str:
    return "claim_source" if state["given"] else "claim_generator"


def _after_retrieval_stage(asks: bool, state: ComposedState, parameters: ComposedParameters) -> str:
    if not state["passages"] or state.get("answerable") is False:
        return "refinement_selector"
    if asks and parameters.check_answer:
        return "answerability_verifier"
    return "generation_demonstrator" if parameters.demonstrate else "claim_generator"


def _after_claim_generator(state: ComposedState, parameters: ComposedParameters) -> str:
    return _after_writing(state, parameters) if state.get("draft") is None else "citation_generator"


def _after_claim_acceptor(state: ComposedState, parameters: ComposedParameters) -> str:
    if state["given"]:
        return "claim_source"
    sentences = len(state["claims"]) + len(state["dropped"])
    return (
        "claim_generator"
        if sentences < parameters.max_claims
        else _after_writing(state, parameters)
    )


def _after_writing(state: ComposedState, parameters: ComposedParameters) -> str:
    # A model does not change claims that a person has let stand or dropped.
    decided = parameters.review and (
        state["dropped"] or any(c.verdict.failed for c in state["claims"])
    )
    if decided or not (state["claims"] and parameters.refine):
        return "refinement_selector"
    return "claims_assessor" if parameters.assess == "nli" else "assessment_demonstrator"


def _after_assessor(state: ComposedState, _: ComposedParameters) -> str:
    return "planning_demonstrator" if last_round(state["rounds"]).faulty else "refinement_selector"


def _after_planner(state: ComposedState, _: ComposedParameters) -> str:
    return "draft_refiner" if last_round(state["rounds"]).actions else "refinement_selector"


def _after_draft_refiner(state: ComposedState, _: ComposedParameters) -> str:
    return "claim_source" if state["given"] else "refinement_selector"


def _after_claim_source(state: ComposedState, parameters: ComposedParameters) -> str:
    return "refinement_selector" if state.get("draft") is None else enter_proof(state, parameters)


def _after_case_recorder(state: ComposedState, parameters: ComposedParameters) -> str:
    names = parameters.form != "prose" and state["claims"] and not state["stop"]
    return "answerer" if names else COMPOSER
