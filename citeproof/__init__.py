"""Answers from your documents, every sentence proved by its citations.

    from citeproof import Toolbox, answer, build_vtg

    with Toolbox.from_settings() as tools:
        print(answer(build_vtg(tools), "Who built the lighthouse?").text)

Names are imported on first use, to keep the import of the package light. Builders and parameters of
the methods come from the registry; the imports below tell type checkers and editors what each name
is.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from citeproof.graphs.registry import METHODS

if TYPE_CHECKING:
    from citeproof.asking import aanswer as aanswer
    from citeproof.asking import answer as answer
    from citeproof.asking import astream_events as astream_events
    from citeproof.compose import remember_with as remember_with
    from citeproof.compose import retrieve_with as retrieve_with
    from citeproof.compose import verify_with as verify_with
    from citeproof.errors import CiteproofError as CiteproofError
    from citeproof.graphs.alce import BaselineParameters as BaselineParameters
    from citeproof.graphs.alce import ClosedbookParameters as ClosedbookParameters
    from citeproof.graphs.alce import CondensingParameters as CondensingParameters
    from citeproof.graphs.alce import RerankParameters as RerankParameters
    from citeproof.graphs.alce import SamplingParameters as SamplingParameters
    from citeproof.graphs.alce import build_closedbook as build_closedbook
    from citeproof.graphs.alce import build_cot as build_cot
    from citeproof.graphs.alce import build_oracle as build_oracle
    from citeproof.graphs.alce import build_rerank as build_rerank
    from citeproof.graphs.alce import build_snippet as build_snippet
    from citeproof.graphs.alce import build_summ as build_summ
    from citeproof.graphs.alce import build_usc as build_usc
    from citeproof.graphs.alce import build_vanilla as build_vanilla
    from citeproof.graphs.calm import CaLMParameters as CaLMParameters
    from citeproof.graphs.calm import build_calm as build_calm
    from citeproof.graphs.composed import ComposedParameters as ComposedParameters
    from citeproof.graphs.composed import build_composed as build_composed
    from citeproof.graphs.llatrieval import LLatrievalParameters as LLatrievalParameters
    from citeproof.graphs.llatrieval import build_llatrieval as build_llatrieval
    from citeproof.graphs.quote_first import QuoteFirstParameters as QuoteFirstParameters
    from citeproof.graphs.quote_first import build_quote_first as build_quote_first
    from citeproof.graphs.r2_mga import R2MGAParameters as R2MGAParameters
    from citeproof.graphs.r2_mga import build_r2_mga as build_r2_mga
    from citeproof.graphs.structured import StructuredParameters as StructuredParameters
    from citeproof.graphs.structured import build_structured as build_structured
    from citeproof.graphs.verbatim import VerbatimParameters as VerbatimParameters
    from citeproof.graphs.verbatim import build_verbatim as build_verbatim
    from citeproof.graphs.vericite import VeriCiteParameters as VeriCiteParameters
    from citeproof.graphs.vericite import build_vericite as build_vericite
    from citeproof.graphs.vtg import PAPER_PARAMETERS as PAPER_PARAMETERS
    from citeproof.graphs.vtg import VTGParameters as VTGParameters
    from citeproof.graphs.vtg import build_vtg as build_vtg
    from citeproof.memory.bank import Bank as Bank
    from citeproof.settings import Settings as Settings
    from citeproof.tools.checking.check import check as check
    from citeproof.tools.entailment import Entailment as Entailment
    from citeproof.tools.entailment import Pair as Pair
    from citeproof.tools.llm.model import LLM as LLM
    from citeproof.tools.retrieval import Retriever as Retriever
    from citeproof.tools.retrieval import as_langchain as as_langchain
    from citeproof.tools.retrieval.cross_encoder_reranker import (
        CrossEncoderReranker as CrossEncoderReranker,
    )
    from citeproof.tools.retrieval.llatrieval_retriever import (
        LLatrievalRetriever as LLatrievalRetriever,
    )
    from citeproof.tools.retrieval.made_up_queries import HyDERetriever as HyDERetriever
    from citeproof.tools.retrieval.made_up_queries import LAMERRetriever as LAMERRetriever
    from citeproof.tools.retrieval.oracle import oracle_passages as oracle_passages
    from citeproof.tools.retrieval.oracle import (
        oracle_passages_for_claims as oracle_passages_for_claims,
    )
    from citeproof.tools.retrieval.rankgpt import RankGPTRetriever as RankGPTRetriever
    from citeproof.tools.toolbox import Toolbox as Toolbox
    from citeproof.types import Answer as Answer
    from citeproof.types import CheckedSentence as CheckedSentence
    from citeproof.types import CheckReport as CheckReport
    from citeproof.types import Citation as Citation
    from citeproof.types import Claim as Claim
    from citeproof.types import Passage as Passage
    from citeproof.types import QuotedPassage as QuotedPassage
    from citeproof.types import Usage as Usage
    from citeproof.types import Verdict as Verdict

_HOMES = {
    "asking": "aanswer answer astream_events",
    "compose": "remember_with retrieve_with verify_with",
    "errors": "CiteproofError",
    "graphs.vtg": "PAPER_PARAMETERS",
    "memory.bank": "Bank",
    "settings": "Settings",
    "tools.checking.check": "check",
    "tools.retrieval.cross_encoder_reranker": "CrossEncoderReranker",
    "tools.entailment": "Entailment Pair",
    "tools.retrieval.made_up_queries": "HyDERetriever LAMERRetriever",
    "tools.retrieval.llatrieval_retriever": "LLatrievalRetriever",
    "tools.llm.model": "LLM",
    "tools.retrieval.oracle": "oracle_passages oracle_passages_for_claims",
    "tools.retrieval.rankgpt": "RankGPTRetriever",
    "tools.retrieval": "Retriever as_langchain",
    "tools.toolbox": "Toolbox",
    "types": "Answer CheckReport CheckedSentence Citation Claim Passage QuotedPassage Usage"
    " Verdict",
}
_HOME = {name: f"citeproof.{home}" for home, names in _HOMES.items() for name in names.split()}
for _method in METHODS.values():
    for _place in (_method.builder, _method.schema):
        _module, _, _name = _place.partition(":")
        _HOME[_name] = _module

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'citeproof' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
