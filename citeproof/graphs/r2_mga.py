"""R²-MGA: answers with the best-matched past case as an example, then refines the answer.

Ji et al., "Towards Verifiable Text Generation with Generative Agent", section "Method". Every
module (Initialization, Assessment, Planning & Action) sees the snippet of the memory bank that
best matches its input, with the reasons for the decisions made there. Answers judged correct
become cases themselves.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, Unpack

from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.answerer import Answerer
from citeproof.agents.assessor import Assess, Assessor, ClaimsAssessor
from citeproof.agents.case_recorder import CaseRecorder, Gate
from citeproof.agents.claims_verifier import ClaimsVerifier
from citeproof.agents.demonstrator import Demonstrator
from citeproof.agents.planner import Planner
from citeproof.agents.refiner import Execution, Refiner
from citeproof.agents.retriever import Retriever
from citeproof.agents.summarizer import Summarizer
from citeproof.graphs.options import R2MGAOptions
from citeproof.graphs.reading import ReadingParameters
from citeproof.graphs.wiring import COMPOSER, MethodBuilder
from citeproof.runtime.place import current_place
from citeproof.state import QuestionInput, R2MGAResult, R2MGAState, last_round
from citeproof.tools.citations.answer_text import AnyForm, written_out
from citeproof.tools.toolbox import Toolbox

__all__ = ["PAPER_PARAMETERS", "R2MGAParameters", "build_r2_mga"]

Graph: TypeAlias = CompiledStateGraph[R2MGAState, Any, QuestionInput, R2MGAResult]


class R2MGAParameters(ReadingParameters):
    """The parameters of R²-MGA; the defaults are the paper's, except for the gate."""

    answer_tokens: int = Field(default=300, ge=16, le=4000)
    """Maximum length of the answer, first or refined, in tokens."""
    rounds: int = Field(default=1, ge=1, le=10)
    """Maximum number of refinements. With more than one, refinement continues until an assessment
    finds nothing to refine, as in SELF-REFINE (appendix E)."""
    execution: Execution = "one-time"
    """`one-time` carries out all actions in one call, `step-by-step` each in a separate call."""
    best_match: bool = True
    """False always shows the same, built-in demonstrations (ablation, Table 2)."""
    rank: int = Field(default=1, ge=1, le=5)
    """Rank of the match to show: 1 is the best, 2 the second best; a rank past the end of the bank
    shows its last match (Figure 5)."""
    rationale: bool = True
    """False shows snippets without the reasons for their decisions (ablation, Table 2)."""
    refine: bool = True
    """False ends with the first answer, which is not assessed and leaves no case (ablation, Table
    2)."""
    assess: Assess = "llm"
    """`nli` lets the entailment model assess statements and citations, but not completeness. Use it
    for language models that find fault with every answer, as the embedded one does."""
    remember: bool = True
    """False reads the memory bank but does not write to it."""
    namespace: str = Field(default="", pattern=r"^[\w.-]{0,64}$")
    """Part of the memory bank to read and write; if empty, the one in the settings."""
    gate: Gate = "both"
    """The judge that decides whether the final answer becomes a case: `llm`, as in the paper, `nli`
    or `both`. With `nli` and `both`, the entailment model gives every claim a verdict. With
    `assess="nli"`, the entailment model's assessment counts as the language model's, which is not
    called."""
    least_score: float = Field(default=1.0, gt=0.0, le=1.0)
    """Least share of supported claims at which the entailment model accepts an answer."""
    unverified: Literal["keep", "flag", "drop"] = "flag"
    """What to do with claims that the entailment model does not find supported."""
    form: AnyForm = "prose"
    """`list` answers with names, `short` with a single one. Each form has its own cases."""
    style: Literal["", "summary", "snippet"] = ""
    """Empty reads the passages. `summary` (SUMM) and `snippet` (SNIPPET) read short forms that the
    model writes first, leaving out the passages that it calls irrelevant (Table 1)."""
    whole_snippets: bool = False
    """True shows snippets with all their passages, uncut (section "Method", Memory Module), which
    soon fills a small context window."""
    always_plan: bool = False
    """True plans and refines even if the first assessment finds no fault (section "Method",
    Planning & Action)."""
    may_abstain: bool = False
    """True allows the answerer to abstain if the passages give no answer."""


_PAPER: dict[str, Any] = {
    "k": 5,
    "whole_snippets": True,
    "always_plan": True,
    "gate": "llm",
    "unverified": "keep",
    "check_answer": False,
}
_STRATEGIES: dict[str, dict[str, Any]] = {
    "": {},
    ":summ": {"style": "summary", "k": 10},
    ":snippet": {"style": "snippet", "k": 10},
    ":oracle": {"ranked": True},
}
PAPER_PARAMETERS: dict[str, dict[str, Any]] = {
    f"{data}{strategy}": {**_PAPER, "form": form, **own}
    for data, form in {"asqa": "prose", "eli5": "prose", "qampari": "list"}.items()
    for strategy, own in _STRATEGIES.items()
}
"""Section "Experiments": `build_r2_mga(tools, **PAPER_PARAMETERS["asqa:summ"])`. For `:oracle`,
`citeproof eval` chooses the passages."""


def build_r2_mga(tools: Toolbox, **options: Unpack[R2MGAOptions]) -> Graph:
    """The compiled graph of R²-MGA.

    Besides the answer, the result holds `rounds`, a `Reflection` for each assessment with its
    feedback and the planned actions, and `case_id`, the case that was added to the memory bank,
    or an empty string. The model that writes the first answer has the role `answerer`, the one
    that writes rationales has the role `demonstrator`. Without a memory bank, the graph shows
    built-in demonstrations and keeps no cases. For arguments and errors, see `build_vtg`; the
    parameters are fields of `R2MGAParameters`.
    """
    reflecting, bank = tools.llm_for("demonstrator"), tools.bank
    builder = MethodBuilder(tools, "r2-mga", R2MGAParameters, R2MGAState, R2MGAResult, options)
    builder.add_nodes(
        {
            "retriever": Retriever(tools.retriever),
            "summarizer": Summarizer(tools.llm_for("summarizer")),
            "generation_demonstrator": Demonstrator(reflecting, bank, "generation"),
            "answerer": Answerer(tools.llm_for("answerer")),
            "assessment_demonstrator": Demonstrator(reflecting, bank, "assessment"),
            "assessor": Assessor(tools.llm_for("assessor")),
            "claims_assessor": ClaimsAssessor(tools.entailment),
            "planning_demonstrator": Demonstrator(reflecting, bank, "planning"),
            "planner": Planner(tools.llm_for("planner")),
            "refiner": Refiner(tools.llm_for("refiner")),
            "claims_verifier": ClaimsVerifier(tools.entailment),
            "case_recorder": CaseRecorder(bank, answerability=tools.answerability),
        }
    )

    def after_refiner(state: R2MGAState, parameters: R2MGAParameters) -> str:
        last = last_round(state["rounds"])
        changed = written_out(state["claims"], parameters.form) != last.answer
        # After the last round, only the memory bank needs another assessment.
        remembers = bank is not None and parameters.remember and not current_place().drafts
        keeps = remembers and parameters.gate != "nli"
        goes_on = changed and (last.number < parameters.rounds or keeps)
        return _assess(parameters) if goes_on else _finish(parameters)

    ends = ("claims_verifier", "case_recorder")
    assessments = ("assessment_demonstrator", "claims_assessor")
    builder.add_opening("retriever")
    first = "generation_demonstrator"
    builder.add_route("retriever", _after_retriever, "summarizer", first, COMPOSER)
    builder.add_edges("summarizer", first, "answerer")
    builder.add_route("answerer", _after_answerer, *assessments, *ends, COMPOSER)
    builder.add_edges("assessment_demonstrator", "assessor")
    builder.add_route("assessor", _after_assessor, "planning_demonstrator", *ends)
    builder.add_route("claims_assessor", _after_assessor, "planning_demonstrator", *ends)
    builder.add_edges("planning_demonstrator", "planner")
    builder.add_route("planner", _after_planner, "refiner", *ends)
    builder.add_route("refiner", after_refiner, *assessments, *ends)
    builder.add_edges("claims_verifier", "case_recorder", COMPOSER)
    builder.add_composer("r2-mga")
    return builder.compile()


def _after_retriever(state: R2MGAState, parameters: R2MGAParameters) -> str:
    if not state["passages"]:
        return COMPOSER
    return "summarizer" if parameters.style else "generation_demonstrator"


def _after_answerer(state: R2MGAState, parameters: R2MGAParameters) -> str:
    if not state["claims"]:
        return COMPOSER
    return _assess(parameters) if parameters.refine else _finish(parameters)


def _after_assessor(state: R2MGAState, parameters: R2MGAParameters) -> str:
    last = last_round(state["rounds"])
    # Without feedback, the assessment could not be read, and there is nothing to plan from.
    always = parameters.always_plan and last.number == 1 and last.feedback
    refines = (last.faulty or always) and last.number <= parameters.rounds
    return "planning_demonstrator" if refines else _finish(parameters)


def _after_planner(state: R2MGAState, parameters: R2MGAParameters) -> str:
    return "refiner" if last_round(state["rounds"]).actions else _finish(parameters)


def _assess(parameters: R2MGAParameters) -> str:
    return "claims_assessor" if parameters.assess == "nli" else "assessment_demonstrator"


def _finish(parameters: R2MGAParameters) -> str:
    return "case_recorder" if parameters.gate == "llm" else "claims_verifier"
