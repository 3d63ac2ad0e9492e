"""LLatrieval: retrieval that a language model verifies and updates until it suffices.

Li et al., "LLatrieval: LLM-Verified Retrieval for Verifiable Generation", Algorithm 1. Each round
searches, lets the model choose k passages window by window, and asks it whether they suffice. If
they do not, the model says what is missing, and the next round searches for that. Optionally, a
final call writes an answer from the chosen passages.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, Unpack

from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.answerer import Answerer
from citeproof.agents.claims_verifier import ClaimsVerifier
from citeproof.agents.document_selector import DocumentSelector
from citeproof.agents.retrieval_verifier import MissingInfo, RetrievalRecorder, RetrievalVerifier
from citeproof.agents.retriever import CandidateRetriever
from citeproof.agents.summarizer import Summarizer
from citeproof.graphs.options import LLatrievalOptions
from citeproof.graphs.wiring import COMPOSER, MethodBuilder
from citeproof.parameters import Parameters
from citeproof.state import LLatrievalResult, LLatrievalState, QuestionInput, last_round
from citeproof.tools.citations.answer_text import AnyForm
from citeproof.tools.toolbox import Toolbox

__all__ = ["PAPER_PARAMETERS", "LLatrievalParameters", "build_llatrieval"]

Graph: TypeAlias = CompiledStateGraph[LLatrievalState, Any, QuestionInput, LLatrievalResult]


class LLatrievalParameters(Parameters):
    """The parameters of LLatrieval; the defaults are the paper's (section 4.1)."""

    max_rounds: int = Field(default=4, ge=1, le=20)
    """T: maximum number of rounds of search, selection and verification."""
    candidates: int = Field(default=50, ge=1, le=500)
    """N: maximum number of passages found for a query."""
    window: int = Field(default=20, ge=1, le=100)
    """Number of candidates that the selector reads at a time, in addition to the passages already
    chosen."""
    k: int = Field(default=5, ge=1, le=50)
    """Number of passages to choose."""
    first_query: Literal["question", "passage"] = "question"
    """`passage` begins with a hypothetical answer (HyDE), as the paper does for its corpus of
    web pages, which it searches by words (ELI5)."""
    query_style: Literal["passage", "question"] = "passage"
    """Form of the missing-info query."""
    verification: Literal["class", "score"] = "class"
    """`class`: the model says whether the passages suffice. `score`: it scores them from 0 to
    10."""
    threshold: float = Field(default=7.0, ge=0.0, le=10.0)
    """τ: least score that suffices. The paper varies it and sets no default; it finds 8 too
    strict for ASQA."""
    summarize: bool = True
    """False lets the selector read the passages themselves instead of their summaries."""
    at_once: int = Field(default=8, ge=1, le=256)
    """Maximum number of summaries written concurrently."""
    verify_first: bool = False
    """True first asks whether the k best passages suffice; if they do, no other candidates are
    read."""
    reread: bool = False
    """True offers the selector the passages again that earlier rounds found but did not keep
    (Algorithm 1, line 7, read literally); False reads each passage once."""
    answer: bool = True
    """False ends the run with the passages."""
    prove: bool = True
    """True checks by entailment whether the cited passages support the claims of the answer."""
    answer_tokens: int = Field(default=300, ge=16, le=4000)
    """Maximum length of the answer, in tokens."""
    may_abstain: bool = False
    """True allows the answerer to abstain if the passages give no answer."""
    form: AnyForm = "prose"
    """`list` answers with names, `short` with a single one."""
    shots: int = Field(default=0, ge=0, le=2)
    """Number of example answers shown to the answerer (released program: 1)."""
    verifier_example: bool = False
    """True shows the verifier an example of a question and its answer (Table 9)."""
    verify_summaries: bool = False
    """True lets the verifier read summaries, as the selector does (released program)."""
    count_chosen: bool = False
    """True counts the chosen passages as part of the window, which then holds 5 of them and 15 new
    ones (released program); False reads a whole window in addition to them."""
    summary_style: Literal["summary", "answer"] = "summary"
    """`answer` lets the selector read the answer that each passage gives (released program for
    ELI5)."""
    tell_tried: bool = True
    """False hides earlier queries from the model that writes the next one (section 3.2,
    Equation 6)."""


_PAPER: dict[str, Any] = {
    "max_rounds": 4,
    "candidates": 50,
    "window": 20,
    "k": 5,
    "shots": 1,
    "verifier_example": True,
    "verify_summaries": True,
    "count_chosen": True,
    "tell_tried": False,
    "reread": True,
    "prove": False,
    "check_answer": False,
}
PAPER_PARAMETERS: dict[str, dict[str, Any]] = {
    f"{data}{suffix}": {**_PAPER, **own, "query_style": style}
    for data, own in {
        "asqa": {"form": "prose"},
        "eli5": {"form": "prose", "first_query": "passage", "summary_style": "answer"},
        "qampari": {"form": "list"},
    }.items()
    for suffix, style in (("", "passage"), (":question", "question"))
}
"""Section 4.1, appendix A and the released program: `build_llatrieval(tools,
**PAPER_PARAMETERS["asqa"])`; `:question` asks for the missing information with a question. For
ASQA, `citeproof eval` replaces the question by its sub-questions."""


def build_llatrieval(tools: Toolbox, **options: Unpack[LLatrievalOptions]) -> Graph:
    """The compiled graph of LLatrieval.

    Besides the `answer`, its output has a `retrieval`: the chosen passages, whether they were
    found to suffice, and what each round did. `LLatrievalRetriever` turns the graph into a
    retriever. For arguments and errors, see `build_vtg`; the parameters are fields of
    `LLatrievalParameters`.
    """
    method, end = "llatrieval", "retrieval_recorder"
    builder = MethodBuilder(
        tools, method, LLatrievalParameters, LLatrievalState, LLatrievalResult, options, end=end
    )
    builder.add_nodes(
        {
            "missing_info": MissingInfo(tools.llm_for("missing_info")),
            "candidate_retriever": CandidateRetriever(tools.retriever),
            "summarizer": Summarizer(tools.llm_for("summarizer")),
            "document_selector": DocumentSelector(tools.llm_for("document_selector")),
            "retrieval_verifier": RetrievalVerifier(tools.llm_for("retrieval_verifier")),
            "answerer": Answerer(tools.llm_for("answerer")),
            "claims_verifier": ClaimsVerifier(tools.entailment),
            end: RetrievalRecorder(),
        }
    )
    builder.add_opening("candidate_retriever", "missing_info", route=_first_search)
    builder.add_edges("missing_info", "candidate_retriever")
    builder.add_route(
        "candidate_retriever",
        _after_candidate_retriever,
        "summarizer",
        "document_selector",
        "retrieval_verifier",
        "missing_info",
        "answerer",
        end,
    )
    builder.add_edges("summarizer", "document_selector")
    builder.add_route(
        "document_selector", _after_document_selector, "document_selector", "retrieval_verifier"
    )
    builder.add_route(
        "retrieval_verifier",
        _after_retrieval_verifier,
        "summarizer",
        "document_selector",
        "missing_info",
        "answerer",
        end,
    )
    builder.add_route("answerer", _after_answerer, "claims_verifier", end)
    builder.add_edges("claims_verifier", end, COMPOSER)
    builder.add_composer(method, unverified="keep")
    return builder.compile()


def _first_search(_: LLatrievalState, parameters: LLatrievalParameters) -> str:
    return "missing_info" if parameters.first_query == "passage" else "candidate_retriever"


def _after_candidate_retriever(state: LLatrievalState, parameters: LLatrievalParameters) -> str:
    if not state["long_term"]:
        return "retrieval_recorder"
    if state["waiting"]:
        unjudged = parameters.verify_first and len(state["rounds"]) == 1
        return "retrieval_verifier" if unjudged else _selection(parameters)
    # Without a new passage, D is unchanged since it was last found insufficient.
    return (
        "retrieval_verifier" if last_round(state["rounds"]).new else _next_round(state, parameters)
    )


def _after_document_selector(state: LLatrievalState, _: LLatrievalParameters) -> str:
    return "document_selector" if state["waiting"] else "retrieval_verifier"


def _after_retrieval_verifier(state: LLatrievalState, parameters: LLatrievalParameters) -> str:
    if last_round(state["rounds"]).sufficient:
        return _finish(parameters)
    if state["waiting"]:  # judged before anything was chosen
        return _selection(parameters)
    return _next_round(state, parameters)


def _selection(parameters: LLatrievalParameters) -> str:
    return "summarizer" if parameters.summarize else "document_selector"


def _next_round(state: LLatrievalState, parameters: LLatrievalParameters) -> str:
    return "missing_info" if len(state["rounds"]) < parameters.max_rounds else _finish(parameters)


def _finish(parameters: LLatrievalParameters) -> str:
    return "answerer" if parameters.answer else "retrieval_recorder"


def _after_answerer(state: LLatrievalState, parameters: LLatrievalParameters) -> str:
    proves = parameters.prove and state["claims"]
    return "claims_verifier" if proves else "retrieval_recorder"
