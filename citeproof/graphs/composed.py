"""The composed flow: what LLatrieval, R²-MGA and VTG do best, in one graph.

If the passages found do not answer the question, LLatrieval finds others that do (Li et al.,
Algorithm 1). VTG writes and proves the answer claim by claim (Sun et al., Algorithm 1). An
assessment, for which the best-matched past case is the demonstration (R²-MGA, Ji et al.), decides
whether to refine the answer once. The refined claims are proved too, and replace the first ones
only if no less of them is proved. Proved answers become cases.
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias, Unpack

from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.assessor import Assess, Assessor, ClaimsAssessor
from citeproof.agents.case_recorder import CaseRecorder
from citeproof.agents.claim_generator import ClaimSource
from citeproof.agents.demonstrator import Demonstrator
from citeproof.agents.planner import Planner
from citeproof.agents.refiner import DraftRefiner, RefinementSelector
from citeproof.agents.retriever import RetrievalStage, Retriever
from citeproof.graphs.llatrieval import build_llatrieval
from citeproof.graphs.options import ComposedOptions
from citeproof.graphs.proof import ENTRANCES, add_proof, enter_proof
from citeproof.graphs.vtg import (
    FALLBACK,
    VTGParameters,
    falls_back,
    may_write_more,
    writing_nodes,
)
from citeproof.graphs.wiring import COMPOSER, MethodBuilder
from citeproof.state import ComposedResult, ComposedState, QuestionInput, last_round
from citeproof.tools.toolbox import Toolbox

__all__ = ["ComposedParameters", "build_composed"]

Graph: TypeAlias = CompiledStateGraph[ComposedState, Any, QuestionInput, ComposedResult]

METHOD = "composed"


class ComposedParameters(VTGParameters):
    """The parameters of the composed flow, in addition to those of VTG."""

    search: bool = True
    """False leaves LLatrieval out, which otherwise searches if the passages found do not answer.
    Without a model that decides whether they do (`check_answer`), it searches first."""
    search_rounds: int = Field(default=2, ge=1, le=20)
    """T of LLatrieval: maximum number of queries."""
    candidates: int = Field(default=20, ge=1, le=100)
    """N of LLatrieval: number of passages found for a query, all read in one window."""
    summarize: bool = False
    """True lets LLatrieval choose from summaries, as its paper does."""
    demonstrate: bool = False
    """Show the writer the best-matched past case. An example misleads the embedded writer: of 20
    questions it cost two answers, and half as much time again."""
    best_match: bool = True
    """False always shows the built-in example."""
    rationale: bool = True
    """False shows examples without the reasons for their decisions."""
    refine: bool = True
    """False ends with the first answer, which is not assessed and leaves no case."""
    assess: Assess = "nli"
    """Assessor of the answer: the entailment model (`nli`), which finds claims that are not proved
    or not correctly cited, or the language model (`llm`), which also judges whether the answer is
    complete."""
    remember: bool = True
    """False reads the memory bank but does not write to it."""
    namespace: str = Field(default="", pattern=r"^[\w.-]{0,64}$")
    """Part of the memory bank to read and write; if empty, the one in the settings."""
    least_score: float = Field(default=1.0, gt=0.0, le=1.0)
    """Least share of supported claims at which an answer is kept as a case."""
    answer_tokens: int = Field(default=300, ge=16, le=4000)
    """Maximum length of a refined answer, in tokens."""


def build_composed(tools: Toolbox, **options: Unpack[ComposedOptions]) -> Graph:
    """The compiled graph of the composed flow.

    Besides the answer, the result holds `retrieval` (the passages that LLatrieval chose, and
    whether it found them sufficient), `rounds` (the assessment and the planned actions) and
    `case_id`.

    If the tools have no bank, the graph shows built-in examples and keeps no cases. For arguments
    and errors, see `build_vtg`; the parameters are fields of `ComposedParameters`.
    """
    asks = tools.answerability is not None
    reflecting, bank = tools.llm_for("demonstrator"), tools.bank
    # All nodes work on prose; names are extracted from the sentences at the very end.
    prose: dict[str, Any] = {"fixed": ("form",)}
    search, end = build_llatrieval(tools), "refinement_selector"
    builder = MethodBuilder(
        tools, METHOD, ComposedParameters, ComposedState, ComposedResult, options, end=end
    )
    builder.add_nodes(
        {
            "retriever": Retriever(tools.retriever),
            "retrieval_stage": RetrievalStage(search),
            **writing_nodes(tools, look_again=False),  # LLatrieval looks again
            "generation_demonstrator": Demonstrator(reflecting, bank, "generation", **prose),
            "assessment_demonstrator": Demonstrator(reflecting, bank, "assessment", **prose),
            "assessor": Assessor(tools.llm_for("assessor"), **prose),
            "claims_assessor": ClaimsAssessor(tools.entailment, **prose),
            "planning_demonstrator": Demonstrator(reflecting, bank, "planning", **prose),
            "planner": Planner(tools.llm_for("planner"), **prose),
            "draft_refiner": DraftRefiner(tools.llm_for("refiner")),
            "claim_source": ClaimSource(),
            end: RefinementSelector(),
            "case_recorder": CaseRecorder(
                bank, gate="nli", method=METHOD, answerability=tools.answerability, **prose
            ),
        }
    )
    add_proof(builder, writers=["claim_generator", "claim_source"], writer=_writer)

    writer = "claim_generator"
    assessments = ("assessment_demonstrator", "claims_assessor", end)
    searches = ("retriever", "retrieval_stage")
    builder.add_opening(*searches, route=partial(_first_search, asks))
    first = ("generation_demonstrator", writer, end)
    for stage in searches:
        builder.add_route(
            stage,
            partial(_after_search, asks),
            "answerability_verifier",
            *(("retrieval_stage",) if stage == "retriever" else ()),
            *first,
        )
    builder.add_route(
        "answerability_verifier", _after_answerability, "answer_quoter", "retrieval_stage", end
    )
    builder.add_route("answer_quoter", _after_answer_quoter, *first)
    builder.add_edges("generation_demonstrator", writer)
    builder.add_route(
        writer, partial(_after_claim_generator, asks), "citation_generator", FALLBACK, *assessments
    )
    builder.add_edges(FALLBACK, end)
    builder.add_route("citation_generator", enter_proof, *ENTRANCES)
    builder.add_route("claim_acceptor", _after_claim_acceptor, writer, "claim_source", *assessments)
    builder.add_edges("assessment_demonstrator", "assessor")
    builder.add_route("assessor", _after_assessor, "planning_demonstrator", end)
    builder.add_route("claims_assessor", _after_assessor, "planning_demonstrator", end)
    builder.add_edges("planning_demonstrator", "planner")
    builder.add_route("planner", _after_planner, "draft_refiner", end)
    builder.add_route("draft_refiner", _after_draft_refiner, "claim_source", end)
    builder.add_route("claim_source", _after_claim_source, *ENTRANCES, end)
    builder.add_edges(end, "case_recorder")
    builder.add_route("case_recorder", _after_case_recorder, "answerer", COMPOSER)
    builder.add_edges("answerer", COMPOSER)
    builder.add_composer(METHOD, announce=False)
    return builder.compile()


def _writer(state: ComposedState) -> str:
    return "claim_source" if state["given"] else "claim_generator"


def _first_search(asks: bool, _: ComposedState, parameters: ComposedParameters) -> str:
    checks = asks and parameters.check_answer
    return "retriever" if checks or not parameters.search else "retrieval_stage"


def _after_search(asks: bool, state: ComposedState, parameters: ComposedParameters) -> str:
    if not state["passages"]:
        return _search_on(state, parameters)
    if asks and parameters.check_answer:
        return "answerability_verifier"
    return _write(parameters)


def _after_answerability(state: ComposedState, parameters: ComposedParameters) -> str:
    if state["answerable"] is False:
        return _search_on(state, parameters)
    looks_further = state["doubt"] and _may_search(state, parameters)
    return "retrieval_stage" if looks_further else "answer_quoter"


def _search_on(state: ComposedState, parameters: ComposedParameters) -> str:
    return "retrieval_stage" if _may_search(state, parameters) else "refinement_selector"


def _may_search(state: ComposedState, parameters: ComposedParameters) -> bool:
    return parameters.search and state["retrieval"] is None


def _after_answer_quoter(state: ComposedState, parameters: ComposedParameters) -> str:
    # A quoted answer is proved, and complete: there is nothing to refine.
    return "refinement_selector" if state["claims"] else _write(parameters)


def _write(parameters: ComposedParameters) -> str:
    return "generation_demonstrator" if parameters.demonstrate else "claim_generator"


def _after_claim_generator(asks: bool, state: ComposedState, parameters: ComposedParameters) -> str:
    if state.get("draft"):
        return "citation_generator"
    return FALLBACK if falls_back(asks, state, parameters) else _after_writing(state, parameters)


def _after_claim_acceptor(state: ComposedState, parameters: ComposedParameters) -> str:
    if state["given"]:
        return "claim_source"
    return (
        "claim_generator"
        if may_write_more(state, parameters)
        else _after_writing(state, parameters)
    )


def _after_writing(state: ComposedState, parameters: ComposedParameters) -> str:
    # The model must not change claims that a person has approved or dropped.
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
