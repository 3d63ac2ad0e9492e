"""The graphs as a LangGraph server and Studio serve them: `langgraph.json` names these.

They read the settings, and open models and index once, when the first graph is asked for.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citeproof.graphs.alce import Graph as BaselineGraph
    from citeproof.graphs.calm import Graph as CaLMGraph
    from citeproof.graphs.llatrieval import Graph as LLatrievalGraph
    from citeproof.graphs.r2_mga import Graph as R2MGAGraph
    from citeproof.graphs.vtg import Graph as VTGGraph
    from citeproof.tools.toolbox import Toolbox

__all__ = [
    "calm",
    "cot",
    "llatrieval",
    "r2_mga",
    "rerank",
    "snippet",
    "summ",
    "usc",
    "vanilla",
    "vtg",
]

_opening = threading.Lock()


async def calm() -> CaLMGraph:
    """The graph of CaLM over the configured models and index."""
    from citeproof.graphs.calm import build_calm

    return build_calm(await asyncio.to_thread(_tools))


async def cot() -> BaselineGraph:
    """The graph of CoT over the configured models and index."""
    from citeproof.graphs.alce import build_cot

    return build_cot(await asyncio.to_thread(_tools))


async def llatrieval() -> LLatrievalGraph:
    """The graph of LLatrieval over the configured models and index."""
    from citeproof.graphs.llatrieval import build_llatrieval

    return build_llatrieval(await asyncio.to_thread(_tools))


async def r2_mga() -> R2MGAGraph:
    """The graph of R²-MGA over the configured models, index and memory bank."""
    from citeproof.graphs.r2_mga import build_r2_mga

    return build_r2_mga(await asyncio.to_thread(_tools))


async def rerank() -> BaselineGraph:
    """The graph of RERANK over the configured models and index."""
    from citeproof.graphs.alce import build_rerank

    return build_rerank(await asyncio.to_thread(_tools))


async def snippet() -> BaselineGraph:
    """The graph of SNIPPET over the configured models and index."""
    from citeproof.graphs.alce import build_snippet

    return build_snippet(await asyncio.to_thread(_tools))


async def summ() -> BaselineGraph:
    """The graph of SUMM over the configured models and index."""
    from citeproof.graphs.alce import build_summ

    return build_summ(await asyncio.to_thread(_tools))


async def usc() -> BaselineGraph:
    """The graph of USC over the configured models and index."""
    from citeproof.graphs.alce import build_usc

    return build_usc(await asyncio.to_thread(_tools))


async def vanilla() -> BaselineGraph:
    """The graph of VANILLA over the configured models and index."""
    from citeproof.graphs.alce import build_vanilla

    return build_vanilla(await asyncio.to_thread(_tools))


async def vtg() -> VTGGraph:
    """The graph of VTG over the configured models and index."""
    from citeproof.graphs.vtg import build_vtg

    return build_vtg(await asyncio.to_thread(_tools))


def _tools() -> Toolbox:
    with _opening:
        return _open_once()


@cache
def _open_once() -> Toolbox:
    from citeproof.tools.toolbox import Toolbox

    tools = Toolbox.from_settings()
    atexit.register(tools.close)
    return tools
