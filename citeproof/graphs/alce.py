"""The baselines of ALCE: write the answer in one go, then check its citations.

Gao et al., "Enabling Large Language Models to Generate Text with Citations", section 3; universal
self-consistency (Chen et al. 2023) as in CaLM's comparison, and chain of thought (Ji et al. 2024)
as in R²-MGA's. The baselines share one flow; each adds or leaves out a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

from pydantic import Field

from citeproof.agents.answer_selector import AnswerReranker, AnswerSelector
from citeproof.agents.answerer import Answerer
from citeproof.agents.citation_generator import CitationAttacher
from citeproof.agents.summarizer import Summarizer
from citeproof.graphs.options import (
    BaselineOptions,
    ClosedbookOptions,
    CondensingOptions,
    RerankOptions,
    SamplingOptions,
)
from citeproof.graphs.reading import (
    Graph,
    ReadingParameters,
    Step,
    build_steps,
    check_step,
    reading_steps,
)
from citeproof.parameters import Parameters
from citeproof.state import BaselineState
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


class WritingParameters(Parameters):
    """The parameters that all baselines share."""

    form: AnyForm = "prose"
    """`list` answers with names, `short` with a single one (or a number, a date, a phrase)."""
    shots: int = Field(default=2, ge=0, le=2)
    """Number of examples shown to the model."""
    answer_tokens: int = Field(default=300, ge=16, le=4000)
    """Maximum length of the answer, in tokens."""
    temperature: float | None = Field(default=None, ge=0.0, le=2.0)
    """Sampling temperature of the answer; none uses the one in the settings."""
    prove: bool = True
    """False leaves the claims unchecked. True checks all of them at once after the answer is
    written; they stay in the answer whatever the verdict."""


class BaselineParameters(WritingParameters, ReadingParameters):
    """The parameters of VANILLA, CoT and ORACLE."""

    reasoning: bool = False
    """True lets the model reason before it answers (ALCE-CoT); the default of CoT."""


class CondensingParameters(BaselineParameters):
    """The parameters of SUMM and SNIPPET."""

    k: int = Field(default=10, ge=1, le=50)
    """K: number of passages to shorten; the model reads the relevant ones."""
    summary_tokens: int = Field(default=100, ge=16, le=1000)
    """Maximum length of a summary or snippet, in tokens."""
    at_once: int = Field(default=8, ge=1, le=256)
    """Maximum number of summaries written concurrently."""


class SamplingParameters(BaselineParameters):
    """The parameters of USC."""

    samples: int = Field(default=9, ge=1, le=50)
    """Number of answers to choose from (CaLM, section 5: 9). They are written concurrently, so a
    run can exceed its budget of calls by at most this number minus one."""
    temperature: float | None = Field(default=1.0, ge=0.0, le=2.0)
    """Sampling temperature of the answers; at 0 they are all the same."""


class RerankParameters(SamplingParameters):
    """The parameters of RERANK."""

    samples: int = Field(default=4, ge=1, le=50)
    """Number of answers to write; the one with the highest citation recall is kept."""
    definition: Literal["paper", "released"] = "paper"
    """`paper`: citation recall is the share of claims that their own cited passages entail.
    `released`: the share of claims that all passages together entail, as in ALCE's program; there
    is no answer if every sample scores 0."""


class ClosedbookParameters(WritingParameters):
    """The parameters of CLOSEDBOOK."""

    cite: bool = False
    """True cites the best-matching passage for each claim (POST-HOC CITE)."""


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

    For arguments and errors, see `build_vtg`; the parameters are fields of `BaselineParameters`.
    """
    return _build(tools, "vanilla", BaselineParameters, options)


def build_cot(tools: Toolbox, **options: Unpack[BaselineOptions]) -> Graph:
    """CoT: VANILLA, but the model reasons first; see `build_vanilla`."""
    return _build(tools, "cot", BaselineParameters, {"reasoning": True, **options})


def build_oracle(tools: Toolbox, **options: Unpack[BaselineOptions]) -> Graph:
    """ORACLE: VANILLA on passages chosen by the gold answers; see `build_vanilla`.

    The graph never sees the gold answers: it reads the documents that come with the question, in
    their order, and has no retriever. `tools.oracle` chooses the documents:
    `graph.invoke({"question": q, "documents": oracle_passages(found, answers)})`.
    """
    own = {"ranked": True, **options}
    return _build(tools, "oracle", BaselineParameters, own, searches=False)


def build_summ(tools: Toolbox, **options: Unpack[CondensingOptions]) -> Graph:
    """SUMM: an answer from summaries of twice as many passages.

    Citations are checked against the passages, not their summaries. The model that summarizes has
    the role `summarizer`. For the arguments, see `build_vtg`; the parameters are fields of
    `CondensingParameters`.
    """
    return _build(tools, "summ", CondensingParameters, options, shorten="summary")


def build_snippet(tools: Toolbox, **options: Unpack[CondensingOptions]) -> Graph:
    """SNIPPET: SUMM with spans of the passages instead of summaries; see `build_summ`."""
    return _build(tools, "snippet", CondensingParameters, options, shorten="snippet")


def build_rerank(tools: Toolbox, **options: Unpack[RerankOptions]) -> Graph:
    """RERANK: writes several answers and keeps the one with the highest citation recall.

    For the arguments, see `build_vtg`; the parameters are fields of `RerankParameters`. With the
    paper's definition, the choice itself yields verdicts, whatever `prove` says.
    """
    choosing = Step("answer_reranker", AnswerReranker(tools.entailment))
    proof = check_step(tools, lambda _, own: own.prove and own.definition == "released")
    return _build(tools, "rerank", RerankParameters, options, ending=[choosing, proof])


def build_usc(tools: Toolbox, **options: Unpack[SamplingOptions]) -> Graph:
    """USC: writes several answers, of which the model picks the most consistent one.

    The model that picks has the role `answer_selector`. For the arguments, see `build_vtg`; the
    parameters are fields of `SamplingParameters`.
    """
    choosing = Step("answer_selector", AnswerSelector(tools.llm_for("answer_selector")))
    return _build(tools, "usc", SamplingParameters, options, ending=[choosing, check_step(tools)])


def build_closedbook(tools: Toolbox, **options: Unpack[ClosedbookOptions]) -> Graph:
    """CLOSEDBOOK: an answer from what the model knows; with `cite=True`, POST-HOC CITE.

    For the arguments, see `build_vtg`; the parameters are fields of `ClosedbookParameters`.
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
    searches: bool = True,
    shorten: Literal["", "summary", "snippet"] = "",
    ending: Sequence[Step] = (),
) -> Graph:
    """VANILLA, with other passages, short forms of them, or other steps at the end."""
    steps = reading_steps(tools, searches=searches)
    if shorten:
        steps.append(Step("summarizer", Summarizer(tools.llm_for("summarizer"), style=shorten)))
    steps.append(Step("answerer", Answerer(tools.llm_for("answerer"))))
    steps += ending or [check_step(tools)]
    return build_steps(tools, name, schema, BaselineState, steps, options)
