"""Answers from your documents, every sentence proved by its citations.

    from citeproof import Toolbox, build_vtg

    with Toolbox.from_settings() as tools:
        answer = build_vtg(tools).invoke({"question": "Who built the lighthouse?"})["answer"]

Nothing heavy is imported before a name is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from citeproof.errors import CiteproofError
    from citeproof.graphs.calm import CaLMParameters, build_calm
    from citeproof.graphs.llatrieval import LLatrievalParameters, build_llatrieval
    from citeproof.graphs.vtg import PAPER_PARAMETERS, VTGParameters, build_vtg
    from citeproof.settings import Settings
    from citeproof.tools.checking import check
    from citeproof.tools.entailment import Entailment, Pair
    from citeproof.tools.llatrieval_retriever import LLatrievalRetriever
    from citeproof.tools.llm import LLM
    from citeproof.tools.retrieval import Retriever
    from citeproof.tools.toolbox import Toolbox
    from citeproof.types import (
        Answer,
        CheckedSentence,
        CheckReport,
        Citation,
        Claim,
        Passage,
        Support,
        Usage,
        Verdict,
    )

__all__ = [
    "LLM",
    "PAPER_PARAMETERS",
    "Answer",
    "CaLMParameters",
    "CheckReport",
    "CheckedSentence",
    "Citation",
    "CiteproofError",
    "Claim",
    "Entailment",
    "LLatrievalParameters",
    "LLatrievalRetriever",
    "Pair",
    "Passage",
    "Retriever",
    "Settings",
    "Support",
    "Toolbox",
    "Usage",
    "VTGParameters",
    "Verdict",
    "build_calm",
    "build_llatrieval",
    "build_vtg",
    "check",
]

_HOMES = {
    "errors": ["CiteproofError"],
    "graphs.calm": ["CaLMParameters", "build_calm"],
    "graphs.llatrieval": ["LLatrievalParameters", "build_llatrieval"],
    "graphs.vtg": ["PAPER_PARAMETERS", "VTGParameters", "build_vtg"],
    "settings": ["Settings"],
    "tools.checking": ["check"],
    "tools.entailment": ["Entailment", "Pair"],
    "tools.llatrieval_retriever": ["LLatrievalRetriever"],
    "tools.llm": ["LLM"],
    "tools.retrieval": ["Retriever"],
    "tools.toolbox": ["Toolbox"],
    "types": [
        "Answer",
        "CheckReport",
        "CheckedSentence",
        "Citation",
        "Claim",
        "Passage",
        "Support",
        "Usage",
        "Verdict",
    ],
}
_HOME = {name: f"citeproof.{home}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'citeproof' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
