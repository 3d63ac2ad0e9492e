"""The baselines of ALCE: the answer is written in one go, and its citations are judged afterwards.

Gao et al., "Enabling Large Language Models to Generate Text with Citations", section 3; universal
self-consistency (Chen et al. 2023) as CaLM compares with it, and chain of thought (Ji et al. 2024)
as R²-MGA does. They share one flow, of which each leaves out or adds a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack

from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.answer_composer import AnswerComposer
from citeproof.agents.answer_reranker import AnswerReranker
from citeproof.agents.answer_selector import AnswerSelector
from citeproof.agents.answerability_verifier import AnswerabilityVerifier
from citeproof.agents.answerer import Answerer
from citeproof.agents.base import Node
from citeproof.agents.citation_attacher import CitationAttacher
from citeproof.agents.claims_verifier import ClaimsVerifier
from citeproof.agents.retriever import Retriever
from citeproof.agents.summarizer import Summarizer
from citeproof.graphs.options import (
    BaselineOptions,
    ClosedbookOptions,
    CondensingOptions,
    RerankOptions,
    SamplingOptions,
)
from citeproof.graphs.wiring import Insertions, MethodBuilder
from citeproof.parameters import Parameters, override_defaults
from citeproof.state import BaselineState, QuestionInput, Result
from citeproof.tools.citations.answer_text import AnyForm
from citeproof.tools.toolbox import Toolbox

__all__ = [
    "PAPER_PARAMETERS",
    "BaselineParameters",
    "ClosedbookParameters",
    "CondensingParameters",
    "RerankParameters",
    "SamplingParameters",
    "build_closedbook",
    "build_cot",
    "build_oracle",
    "build_rerank",
    "build_snippet",
    "build_summ",
    "build_usc",
    "build_vanilla",
]

Graph: TypeAlias = CompiledStateGraph[BaselineState, Any, QuestionInput, Result]


class WritingParameters(Parameters):
    """The parameters that all baselines share."""

    form: AnyForm = "prose"
    """`list` answers with names, `short` with a single one (or a number, a date, a phrase)."""
    shots: int = Field(default=2, ge=0, le=2)
    """Examples that the model is shown."""
    answer_tokens: int = Field(default=300, ge=16, le=4000)
    """Longest answer."""
    temperature: float | None = Field(default=None, ge=0.0, le=2.0)
    """That of the answer; none takes that of the settings."""
    prove: bool = True
    """False leaves the claims unchecked. They are checked after they were written, all at once,
    and stay in the answer whatever the verdict."""


class BaselineParameters(WritingParameters):
    """The parameters of VANILLA, CoT and ORACLE."""

    k: int = Field(default=5, ge=1, le=50)
    """Passages that are read."""
    ranked: bool = False
    """True takes the first k of the documents that come with a question, in their order, instead
    of searching them."""
    reasoning: bool = False
    """True lets the model reason before it answers (ALCE-CoT); CoT's default."""


class CondensingParameters(BaselineParameters):
    """The parameters of SUMM and SNIPPET."""

    k: int = Field(default=10, ge=1, le=50)
    """K: passages that are shortened, and read where they are relevant."""
    summary_tokens: int = Field(default=100, ge=16, le=1000)
    """Longest summary or snippet."""
    at_once: int = Field(default=8, ge=1, le=256)
    """Most summaries that are written at a time."""


class SamplingParameters(BaselineParameters):
    """The parameters of USC."""

    samples: int = Field(default=9, ge=1, le=50)
    """Answers of which one is chosen (CaLM, section 5: 9). As they are written at once, a budget
    of calls may be exceeded by as many, less one."""
    temperature: float | None = Field(default=1.0, ge=0.0, le=2.0)
    """That of the samples; at 0 all are the same."""


class RerankParameters(SamplingParameters):
    """The parameters of RERANK."""

    samples: int = Field(default=4, ge=1, le=50)
    """Answers of which the one with the highest citation recall is kept."""
    definition: Literal["paper", "released"] = "paper"
    """`paper`: an answer's citation recall is the share of its claims that the passages they cite
    entail. `released`: what ALCE's program computes in its stead, the share of those that all
    passages entail; it gives no answer where every sample scores 0."""


class ClosedbookParameters(WritingParameters):
    """The parameters of CLOSEDBOOK."""

    cite: bool = False
    """True cites for each claim the passage that matches it best (POST-HOC CITE)."""


PAPER_PARAMETERS: dict[str, dict[str, Any]] = {
    data: {"form": form, "shots": 2, "prove": False, "check_answer": False}
    for data, form in {
        "asqa": "prose",
        "eli5": "prose",
        "qampari": "list",
        "2wikimultihopqa": "short",
        "nq": "short",
        "webquestions": "short",
    }.items()
}
"""Sections 3 and 4, for all baselines; the last three are VTG's (Table 5)."""


def build_vanilla(
    tools: Toolbox,
    *,
    checkpointer: Any = None,
    name: str = "vanilla",
    insert_after: Insertions | None = None,
    **parameters: Unpack[BaselineOptions],
) -> Graph:
    """VANILLA: the best passages, one call, an answer with citations.

    For arguments and errors see `build_vtg`; the parameters are fields of `BaselineParameters`.
    """
    schema = override_defaults(BaselineParameters, parameters, tools.budget)
    steps = _with_reading(tools, _answerer(tools))
    return _compile(tools, "vanilla", schema, steps, checkpointer, name, insert_after)


def build_cot(
    tools: Toolbox,
    *,
    checkpointer: Any = None,
    name: str = "cot",
    insert_after: Insertions | None = None,
    **parameters: Unpack[BaselineOptions],
) -> Graph:
    """CoT: VANILLA, but the model reasons first; see `build_vanilla`."""
    values = {"reasoning": True, **parameters}
    schema = override_defaults(BaselineParameters, values, tools.budget)
    steps = _with_reading(tools, _answerer(tools))
    return _compile(tools, "cot", schema, steps, checkpointer, name, insert_after)


def build_oracle(
    tools: Toolbox,
    *,
    checkpointer: Any = None,
    name: str = "oracle",
    insert_after: Insertions | None = None,
    **parameters: Unpack[BaselineOptions],
) -> Graph:
    """ORACLE: VANILLA on passages that were chosen by the gold answers; see `build_vanilla`.

    The graph never sees those answers: it reads the documents that come with the question, in
    their order, and has no retriever. `tools.oracle` chooses them:
    `graph.invoke({"question": q, "documents": oracle_passages(found, answers)})`.
    """
    values = {"ranked": True, **parameters}
    schema = override_defaults(BaselineParameters, values, tools.budget)
    steps = [_Step("retriever", Retriever(None)), *_with_reading(tools, _answerer(tools))[1:]]
    return _compile(tools, "oracle", schema, steps, checkpointer, name, insert_after)


def build_summ(
    tools: Toolbox,
    *,
    checkpointer: Any = None,
    name: str = "summ",
    insert_after: Insertions | None = None,
    **parameters: Unpack[CondensingOptions],
) -> Graph:
    """SUMM: an answer from summaries of twice as many passages.

    Citations are checked against the passages, not their summaries. The summaries' model has
    the role `summarizer`. For the arguments see `build_vtg`; the parameters are fields of
    `CondensingParameters`.
    """
    schema = override_defaults(CondensingParameters, parameters, tools.budget)
    steps = _with_reading(tools, _summarizer(tools, "summary"), _answerer(tools))
    return _compile(tools, "summ", schema, steps, checkpointer, name, insert_after)


def build_snippet(
    tools: Toolbox,
    *,
    checkpointer: Any = None,
    name: str = "snippet",
    insert_after: Insertions | None = None,
    **parameters: Unpack[CondensingOptions],
) -> Graph:
    """SNIPPET: SUMM with spans of the passages in place of summaries; see `build_summ`."""
    schema = override_defaults(CondensingParameters, parameters, tools.budget)
    steps = _with_reading(tools, _summarizer(tools, "snippet"), _answerer(tools))
    return _compile(tools, "snippet", schema, steps, checkpointer, name, insert_after)


def build_rerank(
    tools: Toolbox,
    *,
    checkpointer: Any = None,
    name: str = "rerank",
    insert_after: Insertions | None = None,
    **parameters: Unpack[RerankOptions],
) -> Graph:
    """RERANK: several answers, of which the one with the highest citation recall is kept.

    For the arguments see `build_vtg`; the parameters are fields of `RerankParameters`. By
    the paper's definition the verdicts come with the choice, `prove` or not.
    """
    schema = override_defaults(RerankParameters, parameters, tools.budget)
    choose = _Step("answer_reranker", AnswerReranker(tools.entailment))
    *steps, proof = _with_reading(tools, _answerer(tools), choose)
    steps.append(proof._replace(wanted=lambda p: p.prove and p.definition == "released"))
    return _compile(tools, "rerank", schema, steps, checkpointer, name, insert_after)


def build_usc(
    tools: Toolbox,
    *,
    checkpointer: Any = None,
    name: str = "usc",
    insert_after: Insertions | None = None,
    **parameters: Unpack[SamplingOptions],
) -> Graph:
    """USC: several answers, of which the model picks the most consistent one.

    It picks in the role `answer_selector`. For the arguments see `build_vtg`; the parameters
    are fields of `SamplingParameters`.
    """
    schema = override_defaults(SamplingParameters, parameters, tools.budget)
    choose = _Step("answer_selector", AnswerSelector(tools.llm_for("answer_selector")))
    steps = _with_reading(tools, _answerer(tools), choose)
    return _compile(tools, "usc", schema, steps, checkpointer, name, insert_after)


def build_closedbook(
    tools: Toolbox,
    *,
    checkpointer: Any = None,
    name: str = "closedbook",
    insert_after: Insertions | None = None,
    **parameters: Unpack[ClosedbookOptions],
) -> Graph:
    """CLOSEDBOOK: an answer from what the model knows; with `cite=True`, POST-HOC CITE.

    For the arguments see `build_vtg`; the parameters are fields of `ClosedbookParameters`.
    """
    schema = override_defaults(ClosedbookParameters, parameters, tools.budget)
    steps = [
        _Step("answerer", Answerer(tools.llm_for("answerer"), closed_book=True)),
        _Step("citation_attacher", CitationAttacher(tools.retriever), lambda p: p.cite),
        _verifier(tools),
    ]
    return _compile(tools, "closedbook", schema, steps, checkpointer, name, insert_after)


class _Step(NamedTuple):
    """A node, and the parameters under which it has a part in the run."""

    name: str
    node: Node
    wanted: Callable[[Any], bool] | None = None


def _answerer(tools: Toolbox) -> _Step:
    return _Step("answerer", Answerer(tools.llm_for("answerer")))


def _summarizer(tools: Toolbox, style: Literal["summary", "snippet"]) -> _Step:
    return _Step("summarizer", Summarizer(tools.llm_for("summarizer"), style=style))


def _verifier(tools: Toolbox) -> _Step:
    return _Step("claims_verifier", ClaimsVerifier(tools.entailment), lambda p: p.prove)


def _with_reading(tools: Toolbox, *steps: _Step) -> list[_Step]:
    """Find passages, see whether they answer the question, take the steps, check the claims."""
    check = _Step(
        "answerability_verifier",
        AnswerabilityVerifier(tools.answerability, tools.retriever),
        lambda p: p.check_answer and tools.answerability is not None,
    )
    return [_Step("retriever", Retriever(tools.retriever)), check, *steps, _verifier(tools)]


def _compile(
    tools: Toolbox,
    method: str,
    schema: type[WritingParameters],
    steps: Sequence[_Step],
    checkpointer: Any,
    name: str,
    insert_after: Insertions | None,
) -> Graph:
    """The steps one after the other; then the answer is composed."""
    end = "answer_composer"
    builder = MethodBuilder(
        tools, schema, BaselineState, Result, end=end, insert_after=insert_after
    )
    closed_book = method == "closedbook"
    composer = AnswerComposer(
        method,
        "keep",
        closed_book=closed_book,
        answerability=tools.answerability,
        evidence=tools.evidence,
    )
    builder.add_nodes({step.name: step.node for step in steps})
    builder.add_nodes({end: composer})
    builder.add_opening(steps[0].name)
    for place, step in enumerate(steps, start=1):
        after = _reachable(steps[place:])
        targets = [one.name for one in after]
        may_end = ("retriever", "answerability_verifier")
        if not after or after[-1].wanted is not None or step.name in may_end:
            targets.append(end)
        builder.add_route(step.name, partial(_next, step.name, after), *targets)
    builder.add_edge(end, END)
    return builder.compile(checkpointer=checkpointer, name=name)


def _reachable(steps: Sequence[_Step]) -> list[_Step]:
    """The steps up to the first that has a part in every run."""
    always = (place for place, step in enumerate(steps, start=1) if step.wanted is None)
    return list(steps[: next(always, len(steps))])


def _next(
    source: str, after: Sequence[_Step], state: BaselineState, parameters: WritingParameters
) -> str:
    if source == "retriever" and not state["passages"]:
        return "answer_composer"
    if source == "answerability_verifier" and state.get("answerable") is False:
        return "answer_composer"
    wanted = (step.name for step in after if step.wanted is None or step.wanted(parameters))
    return next(wanted, "answer_composer")
