"""CaLM: contrasts a main LM's answer with a verifier LM's answer from the cited passages alone.

Hsu et al., "CaLM: Contrasting Large and Small Language Models to Verify Grounded Generation",
section 4. If the two answers agree, the main LM's answer is accepted. Otherwise, the statements
that the verifier LM corroborates are kept with their passages, and the main LM corrects them with
new passages.
"""

from __future__ import annotations

from typing import Any, TypeAlias, Unpack

from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.agreement_checker import AgreementChecker
from citeproof.agents.answerer import Answerer, VerifierLM
from citeproof.agents.claims_verifier import ClaimsVerifier
from citeproof.agents.corrector import Corrector, InputPreparer
from citeproof.agents.retriever import Retriever
from citeproof.graphs.options import CaLMOptions
from citeproof.graphs.wiring import COMPOSER, MethodBuilder
from citeproof.parameters import Parameters
from citeproof.state import CaLMResult, CaLMState, QuestionInput, last_round
from citeproof.tools.citations.answer_text import AnyForm
from citeproof.tools.toolbox import Toolbox

__all__ = ["PAPER_PARAMETERS", "CaLMParameters", "build_calm"]

Graph: TypeAlias = CompiledStateGraph[CaLMState, Any, QuestionInput, CaLMResult]

UNREAD = "No verifier LM has read this answer."


class CaLMParameters(Parameters):
    """The parameters of CaLM."""

    k: int = Field(default=5, ge=1, le=50)
    """Number of passages that the main LM reads at a time."""
    pool: int = Field(default=100, ge=1, le=1000)
    """Size of the ranked pool that the rounds work through; at least k."""
    ranked: bool = False
    """True uses the documents that come with a question as the pool, in their order."""
    max_rounds: int = Field(default=4, ge=0, le=20)
    """T: maximum number of answers by the main LM. The last one is not verified, which saves a
    verifier call. One answer is always written, so 0 means 1. Figure 4 counts corrections: its 0
    to 6 are 1 to 7 here."""
    threshold: float = Field(default=0.5, gt=0.0, le=1.0)
    """θ: least ROUGE-2 (F1) of the two answers at which the main LM's answer is accepted."""
    statement_threshold: float = Field(default=0.4, gt=0.0, le=1.0)
    """Least share of a statement's bigrams in the verifier's answer at which the statement is kept.
    The paper gives no value; the statement kept in its Figure 5 has a share of 0.47."""
    form: AnyForm = "prose"
    """`list` answers with names instead of sentences, and keeps those that both models give;
    `short` answers with a single name, and the models agree if they give the same one."""
    shots: int = Field(default=0, ge=0, le=2)
    """Number of example answers shown to both models (appendix B: 2)."""
    correction_shots: int = Field(default=0, ge=0, le=1)
    """Number of example corrections shown to the main LM (appendix B: 1)."""
    answer_tokens: int = Field(default=300, ge=16, le=4000)
    """Maximum length of an answer of either model, in tokens."""
    verify: bool = True
    """False accepts the main LM's first answer (ablation, Table 5)."""
    cited_only: bool = True
    """False lets the verifier LM read all k passages (ablation, Table 6)."""
    prove: bool = True
    """True checks by entailment whether the cited passages support the final claims. CaLM itself
    does not, but agreement between two models is no proof."""
    small_verifier: bool = True
    """False makes the main LM its own verifier (ablation, Table 5)."""


_PAPER = {
    "k": 5,
    "pool": 100,
    "max_rounds": 4,
    "shots": 2,
    "correction_shots": 1,
    "prove": False,
    "check_answer": False,
}
PAPER_PARAMETERS: dict[str, dict[str, Any]] = {
    "asqa": {**_PAPER, "form": "prose", "threshold": 0.5},
    "eli5": {**_PAPER, "form": "prose", "threshold": 0.25},
    "qampari": {**_PAPER, "form": "list", "threshold": 0.5},
}
"""Section 5.4 and appendix B: `build_calm(tools, **PAPER_PARAMETERS["eli5"])`. The paper gives no
θ for QAMPARI."""


def build_calm(tools: Toolbox, **options: Unpack[CaLMOptions]) -> Graph:
    """The compiled graph of CaLM.

    The main LM has the role `answerer`, for corrections as well; the verifier LM has the role
    `verifier_lm`; the entailment model checks the final answer. Besides the answer, the result
    holds `rounds`: a `Contrast` for each answer that was verified. For arguments and errors, see
    `build_vtg`; the parameters are fields of `CaLMParameters`.
    """
    main, verifier = tools.llm_for("answerer"), tools.llm_for("verifier_lm")
    builder = MethodBuilder(tools, "calm", CaLMParameters, CaLMState, CaLMResult, options)
    builder.add_nodes(
        {
            "retriever": Retriever(tools.retriever, fills="short_term"),
            "answerer": Answerer(main),
            "verifier_lm": VerifierLM(verifier, main),
            "agreement_checker": AgreementChecker(),
            "input_preparer": InputPreparer(),
            "corrector": Corrector(main),
            "claims_verifier": ClaimsVerifier(tools.entailment),
        }
    )
    ends = ("claims_verifier", COMPOSER)
    builder.add_opening("retriever")
    builder.add_route("retriever", _after_retriever, "answerer", COMPOSER)
    builder.add_route("answerer", _after_answer, "verifier_lm", *ends)
    builder.add_edges("verifier_lm", "agreement_checker")
    builder.add_route("agreement_checker", _after_agreement_checker, "input_preparer", *ends)
    builder.add_route("input_preparer", _after_input_preparer, "corrector", *ends)
    builder.add_route("corrector", _after_answer, "verifier_lm", *ends)
    builder.add_edges("claims_verifier", COMPOSER)
    builder.add_composer("calm", unverified="keep", agreement=True, doubt=UNREAD)
    return builder.compile()


def _after_retriever(state: CaLMState, _: CaLMParameters) -> str:
    return "answerer" if state["passages"] else COMPOSER


def _after_answer(state: CaLMState, parameters: CaLMParameters) -> str:
    answers = len(state["rounds"]) + 1
    last = answers >= parameters.max_rounds or not parameters.verify
    return _end(state, parameters) if last else "verifier_lm"


def _after_agreement_checker(state: CaLMState, parameters: CaLMParameters) -> str:
    return _end(state, parameters) if last_round(state["rounds"]).agreed else "input_preparer"


def _after_input_preparer(state: CaLMState, parameters: CaLMParameters) -> str:
    # If the pool is exhausted, the current answer is the last one, and is proved like any other.
    return _end(state, parameters) if state["stop"] else "corrector"


def _end(state: CaLMState, parameters: CaLMParameters) -> str:
    return "claims_verifier" if parameters.prove and state["claims"] else COMPOSER
