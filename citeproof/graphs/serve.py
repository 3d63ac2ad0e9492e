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
    from citeproof.graphs.calm import Graph as CaLMGraph
    from citeproof.graphs.llatrieval import Graph as LLatrievalGraph
    from citeproof.graphs.vtg import Graph as VTGGraph
    from citeproof.tools.toolbox import Toolbox

__all__ = ["calm", "llatrieval", "vtg"]

_opening = threading.Lock()


async def calm() -> CaLMGraph:
    """The graph of CaLM over the configured models and index."""
    from citeproof.graphs.calm import build_calm

    return build_calm(await asyncio.to_thread(_tools))


async def llatrieval() -> LLatrievalGraph:
    """The graph of LLatrieval over the configured models and index."""
    from citeproof.graphs.llatrieval import build_llatrieval

    return build_llatrieval(await asyncio.to_thread(_tools))


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
