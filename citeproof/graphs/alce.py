"""The baselines of ALCE: the answer is written in one go, and its citations are judged afterwards.

Gao et al., "Enabling Large Language Models to Generate Text with Citations", section 3; universal
self-consistency (Chen et al. 2023) as CaLM compares with it, and chain of thought (Ji et al. 2024)
as R²-MGA does. They share one flow; each leaves out or adds a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, Unpack

from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from citeproof.agents.answer_selector import AnswerReranker, AnswerSelector
from citeproof.agents.answerer import Answerer
from citeproof.agents.citation_attacher import CitationAttacher
from citeproof.agents.summarizer import Summarizer
from citeproof.graphs.options import (
    BaselineOptions,
    ClosedbookOptions,
    CondensingOptions,
    RerankOptions,
    SamplingOptions,
)
from citeproof.graphs.reading import Step, build_steps, check_step, reading_steps
from citeproof.parameters import Parameters
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
    """False leaves the claims unchecked. True checks all of them at once after the answer is
    written; they stay in the answer whatever the verdict."""


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
    """Answers to choose one from (CaLM, section 5: 9). They are written at once, so a budget of
    calls can be exceeded by at most this number less one."""
    temperature: float | None = Field(default=1.0, ge=0.0, le=2.0)
    """That of the samples; at 0 all are the same."""


class RerankParameters(SamplingParameters):
    """The parameters of RERANK."""

    samples: int = Field(default=4, ge=1, le=50)
    """Answers to write; the one with the highest citation recall is kept."""
    definition: Literal["paper", "released"] = "paper"
    """`paper`: an answer's citation recall is the share of its claims that the passages they cite
    entail. `released`: as in ALCE's program, the share of claims that all passages entail; there is
    no answer if every sample scores 0."""


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


def build_vanilla(tools: Toolbox, **options: Unpack[BaselineOptions]) -> Graph:
    """VANILLA: the best passages, one call, an answer with citations.

    For arguments and errors see `build_vtg`; the parameters are fields of `BaselineParameters`.
    """
    return _build(tools, "vanilla", BaselineParameters, options)


def build_cot(tools: Toolbox, **options: Unpack[BaselineOptions]) -> Graph:
    """CoT: VANILLA, but the model reasons first; see `build_vanilla`."""
    return _build(tools, "cot", BaselineParameters, {"reasoning": True, **options})


def build_oracle(tools: Toolbox, **options: Unpack[BaselineOptions]) -> Graph:
    """ORACLE: VANILLA on passages that were chosen by the gold answers; see `build_vanilla`.

    The graph never sees those answers: it reads the documents that come with the question, in
    their order, and has no retriever. `tools.oracle` chooses them:
    `graph.invoke({"question": q, "documents": oracle_passages(found, answers)})`.
    """
    reading = reading_steps(tools, searches=False)
    return _build(tools, "oracle", BaselineParameters, {"ranked": True, **options}, reading=reading)


def build_summ(tools: Toolbox, **options: Unpack[CondensingOptions]) -> Graph:
    """SUMM: an answer from summaries of twice as many passages.

    Citations are checked against the passages, not their summaries. The summaries' model has
    the role `summarizer`. For the arguments see `build_vtg`; the parameters are fields of
    `CondensingParameters`.
    """
    shortening = Step("summarizer", Summarizer(tools.llm_for("summarizer"), style="summary"))
    reading = [*reading_steps(tools), shortening]
    return _build(tools, "summ", CondensingParameters, options, reading=reading)


def build_snippet(tools: Toolbox, **options: Unpack[CondensingOptions]) -> Graph:
    """SNIPPET: SUMM with spans of the passages in place of summaries; see `build_summ`."""
    shortening = Step("summarizer", Summarizer(tools.llm_for("summarizer"), style="snippet"))
    reading = [*reading_steps(tools), shortening]
    return _build(tools, "snippet", CondensingParameters, options, reading=reading)


def build_rerank(tools: Toolbox, **options: Unpack[RerankOptions]) -> Graph:
    """RERANK: several answers; the one with the highest citation recall is kept.

    For the arguments see `build_vtg`; the parameters are fields of `RerankParameters`. By
    the paper's definition the verdicts come with the choice, `prove` or not.
    """
    choosing = Step("answer_reranker", AnswerReranker(tools.entailment))
    proof = check_step(tools, lambda _, own: own.prove and own.definition == "released")
    return _build(tools, "rerank", RerankParameters, options, ending=[choosing, proof])


def build_usc(tools: Toolbox, **options: Unpack[SamplingOptions]) -> Graph:
    """USC: several answers; the model picks the most consistent one.

    It picks in the role `answer_selector`. For the arguments see `build_vtg`; the parameters
    are fields of `SamplingParameters`.
    """
    choosing = Step("answer_selector", AnswerSelector(tools.llm_for("answer_selector")))
    ending = [choosing, check_step(tools)]
    return _build(tools, "usc", SamplingParameters, options, ending=ending)


def build_closedbook(tools: Toolbox, **options: Unpack[ClosedbookOptions]) -> Graph:
    """CLOSEDBOOK: an answer from what the model knows; with `cite=True`, POST-HOC CITE.

    For the arguments see `build_vtg`; the parameters are fields of `ClosedbookParameters`.
    """
    steps = [
        Step("answerer", Answerer(tools.llm_for("answerer"), closed_book=True)),
        Step("citation_attacher", CitationAttacher(tools.retriever), lambda _, own: own.cite),
        check_step(tools),
    ]
    return build_steps(
        tools, "closedbook", ClosedbookParameters, BaselineState, steps, options, closed_book=True
    )


def _build(
    tools: Toolbox,
    name: str,
    schema: type[Parameters],
    options: Mapping[str, Any],
    *,
    reading: Sequence[Step] = (),
    ending: Sequence[Step] = (),
) -> Graph:
    """VANILLA, with other steps before the answer is written, or behind it."""
    answering = Step("answerer", Answerer(tools.llm_for("answerer")))
    steps = [
        *(reading or reading_steps(tools)),
        answering,
        *(ending or [check_step(tools)]),
    ]
    return build_steps(tools, name, schema, BaselineState, steps, options)
