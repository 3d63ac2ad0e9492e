"""Every graph, set up so that few questions lead through all of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from citeproof import Toolbox, build_llatrieval, build_vanilla
from citeproof.compose import remember_with, retrieve_with, verify_with
from citeproof.graphs.registry import METHODS
from tests.robustness.chaos import FACTS

Build = Callable[..., Any]
"""From tools and a checkpointer to a graph."""
VANILLA: Mapping[str, Any] = {"name": "vanilla"}


def proved(tools: Toolbox, *, draft: Mapping[str, Any] = VANILLA, **more: Any) -> Any:
    """A proof of another method's answer."""
    return verify_with(_built(tools, **draft), tools, **more)


def kept(tools: Toolbox, *, draft: Mapping[str, Any] = VANILLA, **more: Any) -> Any:
    """Another method's answer, kept in the memory bank if it is proved."""
    return remember_with(_built(tools, **draft), tools, **more)


def searched(tools: Toolbox, *, search: Mapping[str, Any], **more: Any) -> Any:
    """VANILLA over the passages that LLatrieval chooses."""
    return build_vanilla(retrieve_with(build_llatrieval(tools, **search), tools), **more)


def _built(tools: Toolbox, name: str, **parameters: Any) -> Any:
    return METHODS[name].build(tools, **parameters)


SHORT: dict[str, dict[str, Any]] = {
    "vtg": {"max_claims": 3, "max_trials": 1, "form": "short", "quote_above": 1.0},
    "calm": {"k": 3, "max_rounds": 3},
    "llatrieval": {"max_rounds": 2, "candidates": 8, "window": 4, "k": 2},
    "r2-mga": {"k": 4, "rounds": 2, "least_score": 0.3, "style": "summary"},
    "composed": {
        "max_claims": 2,
        "max_trials": 0,
        "candidates": 6,
        "k": 3,
        "least_score": 0.3,
        "demonstrate": True,
        "assess": "llm",
        "form": "list",
        "check_answer": False,  # so that LLatrieval searches
    },
    "summ": {"k": 4},
    "snippet": {"k": 4},
    "rerank": {"definition": "released"},
    "usc": {"samples": 3},
    "closedbook": {"cite": True},
}
"""Method → parameters with which a short run leads through all nodes."""


FLOWS: dict[str, Build] = {
    **{name: partial(method.build, **SHORT.get(name, {})) for name, method in METHODS.items()},
    "proved": partial(proved, draft={**VANILLA, "k": 3}, max_trials=1),
    "kept": kept,
    "searched": partial(searched, search=SHORT["llatrieval"], k=2),
}
ASKING = [name for name in FLOWS if name not in METHODS or METHODS[name].writes]
"""The flows that call a language model."""


_SEEDS = {
    "vtg": 9,
    "rerank": 1,
    "calm": 7,
    "r2-mga": 29,
    "composed": 1,
    "vericite": 4,
    "proved": 4,
    "kept": 2,
    "searched": 1,
}


def switched_off(name: str) -> set[str]:
    """The nodes of a flow that these parameters skip, or a run in which the writer writes."""
    checking = {"retriever", "answerability_verifier", "answer_quoter"}
    never = {"reviewer", "claims_assessor", "fallback_quoter"}
    return {*never, *(checking if name == "composed" else ())}


def seed(name: str) -> str:
    """A seed with which `QUESTION` leads through all nodes of the flow."""
    return f"seed {_SEEDS.get(name, 0)}"


def asked(name: str, question: str) -> dict[str, Any]:
    """The input of a flow; ORACLE needs documents."""
    documents = {"documents": list(FACTS[:4])} if name == "oracle" else {}
    return {"question": question, **documents}


def followed(name: str, question: str) -> dict[str, Any]:
    """The input of a flow with earlier turns, which leads through the question rewriter."""
    turns = [("user", "Who kept the light?"), ("assistant", "Bo Ray kept the light."), question]
    return {**asked(name, ""), "messages": turns}
