"""CaLM: a main LM's answer contrasted with a verifier LM's from the cited passages alone.

Hsu et al., "CaLM: Contrasting Large and Small Language Models to Verify Grounded Generation",
section 4. Where the two answers agree, the main LM's is accepted; where not, the statements that
the verifier LM corroborates are kept with their passages, and corrected over further ones.
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.calm_composer import CaLMComposer
from citeproof.agents.calm_verifier import CaLMVerifier
from citeproof.agents.claims_verifier import ClaimsVerifier
from citeproof.agents.contraster import Contraster
from citeproof.agents.corrector import Corrector
from citeproof.agents.form_answerer import Form, FormAnswerer
from citeproof.agents.input_preparer import InputPreparer
from citeproof.agents.pool_retriever import PoolRetriever
from citeproof.graphs.wiring import (
    Node,
    Parameters,
    add_node,
    add_route,
    compiled,
    fixed,
    in_force,
)
from citeproof.state import CaLMResult, CaLMState, Question
from citeproof.tools.toolbox import Toolbox

__all__ = ["PAPER_PARAMETERS", "CaLMParameters", "build_calm"]

Graph: TypeAlias = CompiledStateGraph[CaLMState, Any, Question, CaLMResult]


class CaLMParameters(Parameters):
    """The knobs of CaLM."""

    k: int = Field(default=5, ge=1, le=50)
    """Passages that the main LM reads at a time."""
    pool: int = Field(default=100, ge=1, le=1000)
    """Most passages of the ranked pool that the rounds go through, k at least."""
    ranked: bool = False
    """True takes the documents that come with a question, as the pool, in their order."""
    max_rounds: int = Field(default=4, ge=0, le=20)
    """T: most answers of the main LM. The last one is not verified, so there is one verifier
    call less; one answer is always written, so 0 is as 1. Figure 4 counts corrections: its 0 to
    6 are 1 to 7 here."""
    threshold: float = Field(default=0.5, gt=0.0, le=1.0)
    """θ: the least ROUGE-2 (F1) of the two answers at which the main LM's is accepted."""
    statement_threshold: float = Field(default=0.4, gt=0.0, le=1.0)
    """The least share of a statement's bigrams in the verifier's answer at which it is kept. The
    paper gives none; of the statement that its Figure 5 keeps the share is 0.47."""
    form: Form = "prose"
    """`list` answers with names instead of sentences, and keeps those that both models give."""
    answer_tokens: int = Field(default=300, ge=16, le=4000)
    """Longest answer of either model."""
    verify: bool = True
    """False takes the main LM's first answer as it is (ablation, Table 5)."""
    cited_only: bool = True
    """False lets the verifier LM read all k passages (ablation, Table 6)."""
    prove: bool = True
    """Checks the final claims by entailment against what they cite. CaLM itself does not: two
    models that agree are no proof."""
    small_verifier: bool = True
    """False makes the main LM its own verifier (ablation, Table 5)."""


PAPER_PARAMETERS: dict[str, dict[str, Any]] = {
    "asqa": {"threshold": 0.5},
    "eli5": {"threshold": 0.25},
    "qampari": {"form": "list"},
}
"""Section 5.4: `build_calm(tools, **PAPER_PARAMETERS["eli5"])`. For QAMPARI it names no θ."""


def build_calm(
    tools: Toolbox, *, checkpointer: Any = None, name: str = "calm", **parameters: Any
) -> Graph:
    """The compiled graph of CaLM.

    The main LM has the role `answerer`, for corrections as well; the verifier LM has the role
    `calm_verifier`; the entailment model checks the final answer. The result holds `rounds`
    beside the answer: a `Contrast` for each answer that was verified. For arguments and errors
    see `build_vtg`; the parameters are fields of `CaLMParameters`.
    """
    schema = fixed(CaLMParameters, parameters, tools.budget)
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(
        CaLMState, context_schema=schema, input_schema=Question, output_schema=CaLMResult
    )
    main, verifier = tools.llm_for("answerer"), tools.llm_for("calm_verifier")
    nodes: dict[str, Node[Any]] = {
        "answerer": FormAnswerer(main),
        "calm_verifier": CaLMVerifier(verifier, main),
        "contraster": Contraster(),
        "input_preparer": InputPreparer(),
        "corrector": Corrector(main),
        "claims_verifier": ClaimsVerifier(tools.entailment),
        "calm_composer": CaLMComposer(evidence=tools.evidence),
    }
    add_node(builder, "pool_retriever", PoolRetriever(tools.retriever), schema, begins=True)
    for node_name, node in nodes.items():
        add_node(builder, node_name, node, schema)

    edges = partial(add_route, builder, schema, "calm_composer")
    builder.add_edge(START, "pool_retriever")
    edges("pool_retriever", _after_pool_retriever, "answerer")
    edges("answerer", _after_answer, "calm_verifier", "claims_verifier")
    edges("calm_verifier", lambda *_: "contraster", "contraster")
    edges("contraster", _after_contraster, "input_preparer", "claims_verifier")
    builder.add_conditional_edges(
        "input_preparer",
        lambda state: _after_input_preparer(state, in_force(schema)),
        ["corrector", "claims_verifier", "calm_composer"],
    )
    edges("corrector", _after_answer, "calm_verifier", "claims_verifier")
    edges("claims_verifier", lambda *_: "calm_composer")
    builder.add_edge("calm_composer", END)

    return compiled(builder, checkpointer=checkpointer, name=name, steps=200)


def _after_pool_retriever(state: CaLMState, _: CaLMParameters) -> str:
    return "answerer" if state["passages"] else "calm_composer"


def _after_input_preparer(state: CaLMState, parameters: CaLMParameters) -> str:
    # An exhausted pool makes the answer the last one, and that is proved like any other.
    return _end(state, parameters) if state["stop"] else "corrector"


def _after_answer(state: CaLMState, parameters: CaLMParameters) -> str:
    answers = len(state["rounds"]) + 1
    last = answers >= parameters.max_rounds or not parameters.verify
    return _end(state, parameters) if last else "calm_verifier"


def _after_contraster(state: CaLMState, parameters: CaLMParameters) -> str:
    return _end(state, parameters) if state["rounds"][-1].agreed else "input_preparer"


def _end(state: CaLMState, parameters: CaLMParameters) -> str:
    return "claims_verifier" if parameters.prove and state["claims"] else "calm_composer"
