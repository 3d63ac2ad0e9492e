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
    from citeproof.graphs.vtg import PAPER_PARAMETERS, VTGParameters, build_vtg
    from citeproof.settings import Settings
    from citeproof.tools.entailment import Entailment, Pair
    from citeproof.tools.llm import LLM
    from citeproof.tools.retrieval import Retriever
    from citeproof.tools.toolbox import Toolbox
    from citeproof.types import Answer, Citation, Claim, Passage, Usage, Verdict

__all__ = [
    "LLM",
    "PAPER_PARAMETERS",
    "Answer",
    "Citation",
    "CiteproofError",
    "Claim",
    "Entailment",
    "Pair",
    "Passage",
    "Retriever",
    "Settings",
    "Toolbox",
    "Usage",
    "VTGParameters",
    "Verdict",
    "build_vtg",
]

_HOMES = {
    "errors": ["CiteproofError"],
    "graphs.vtg": ["PAPER_PARAMETERS", "VTGParameters", "build_vtg"],
    "settings": ["Settings"],
    "tools.entailment": ["Entailment", "Pair"],
    "tools.llm": ["LLM"],
    "tools.retrieval": ["Retriever"],
    "tools.toolbox": ["Toolbox"],
    "types": ["Answer", "Citation", "Claim", "Passage", "Usage", "Verdict"],
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
