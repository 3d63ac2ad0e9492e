"""The builders' parameters for type checkers; `docs/generate.py` writes this file."""

from __future__ import annotations

from typing import Literal

from citeproof.graphs.wiring import BuildOptions


class Options(BuildOptions, total=False):
    """Fields of `Parameters`."""

    max_calls: int | None
    max_tokens: int | None
    max_seconds: float | None
    check_answer: bool
    on_outage: bool
    prompts: dict[str, str]


class ProofOptions(Options, total=False):
    """Fields of `ProofParameters`."""

    max_trials: int
    queries: int
    passages_per_query: int
    unverified: Literal["keep", "flag", "drop"]
    review: bool
    verify: bool
    memory: bool
    simplify: bool
    diverse_queries: bool
    premise: Literal["fewest", "whole"]
    queries_from_passages: bool
    quote_below: float


class VTGOptions(ProofOptions, total=False):
    """Fields of `VTGParameters`."""

    k: int
    ranked: bool
    max_claims: int
    claim_tokens: int
    may_abstain: bool
    form: Literal["prose", "list", "short"]
    quote_lists: bool
    quote_above: float
    show_rejected: bool
    end_at_repetition: bool


class ComposedOptions(VTGOptions, total=False):
    """Fields of `ComposedParameters`."""

    search: bool
    search_rounds: int
    candidates: int
    summarize: bool
    demonstrate: bool
    best_match: bool
    rationale: bool
    refine: bool
    assess: Literal["llm", "nli"]
    remember: bool
    namespace: str
    least_score: float
    answer_tokens: int


class CaLMOptions(Options, total=False):
    """Fields of `CaLMParameters`."""

    k: int
    pool: int
    ranked: bool
    max_rounds: int
    threshold: float
    statement_threshold: float
    form: Literal["prose", "list", "short"]
    shots: int
    correction_shots: int
    answer_tokens: int
    verify: bool
    cited_only: bool
    prove: bool
    small_verifier: bool


class LLatrievalOptions(Options, total=False):
    """Fields of `LLatrievalParameters`."""

    max_rounds: int
    candidates: int
    window: int
    k: int
    first_query: Literal["question", "passage"]
    query_style: Literal["passage", "question"]
    verification: Literal["class", "score"]
    threshold: float
    summarize: bool
    at_once: int
    verify_first: bool
    reread: bool
    answer: bool
    prove: bool
    answer_tokens: int
    may_abstain: bool
    form: Literal["prose", "list", "short"]
    shots: int
    verifier_example: bool
    verify_summaries: bool
    count_chosen: bool
    summary_style: Literal["summary", "answer"]
    tell_tried: bool


class ReadingOptions(Options, total=False):
    """Fields of `ReadingParameters`."""

    k: int
    ranked: bool


class R2MGAOptions(ReadingOptions, total=False):
    """Fields of `R2MGAParameters`."""

    answer_tokens: int
    rounds: int
    execution: Literal["one-time", "step-by-step"]
    best_match: bool
    rank: int
    rationale: bool
    refine: bool
    assess: Literal["llm", "nli"]
    remember: bool
    namespace: str
    gate: Literal["llm", "nli", "both"]
    least_score: float
    unverified: Literal["keep", "flag", "drop"]
    form: Literal["prose", "list", "short"]
    style: Literal["", "summary", "snippet"]
    whole_snippets: bool
    always_plan: bool
    may_abstain: bool


class VerbatimOptions(ReadingOptions, total=False):
    """Fields of `VerbatimParameters`."""

    read: int
    quotes: int
    context: bool


class VeriCiteOptions(ReadingOptions, total=False):
    """Fields of `VeriCiteParameters`."""

    statements: Literal["both", "draft", "evidence"]
    refine: bool
    prove: bool
    shots: int
    answer_tokens: int
    summary_tokens: int
    at_once: int


class QuoteFirstOptions(ReadingOptions, total=False):
    """Fields of `QuoteFirstParameters`."""

    answer_tokens: int
    nearest: bool
    write: bool
    prove: bool


class StructuredOptions(ReadingOptions, total=False):
    """Fields of `StructuredParameters`."""

    answer_tokens: int
    may_abstain: bool
    prove: bool


class WritingOptions(Options, total=False):
    """Fields of `WritingParameters`."""

    form: Literal["prose", "list", "short"]
    shots: int
    answer_tokens: int
    temperature: float | None
    prove: bool


class BaselineOptions(WritingOptions, ReadingOptions, total=False):
    """Fields of `BaselineParameters`."""

    reasoning: bool


class CondensingOptions(BaselineOptions, total=False):
    """Fields of `CondensingParameters`."""

    summary_tokens: int
    at_once: int


class SamplingOptions(BaselineOptions, total=False):
    """Fields of `SamplingParameters`."""

    samples: int


class RerankOptions(SamplingOptions, total=False):
    """Fields of `RerankParameters`."""

    definition: Literal["paper", "released"]


class ClosedbookOptions(WritingOptions, total=False):
    """Fields of `ClosedbookParameters`."""

    cite: bool


class KeepingOptions(Options, total=False):
    """Fields of `KeepingParameters`."""

    namespace: str
