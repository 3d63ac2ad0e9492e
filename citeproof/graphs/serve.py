"""The graphs for a LangGraph server and Studio, as named in `langgraph.json`.

The module has one function per served method. The first call reads the settings and opens models
and index, which all functions share.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine
from functools import cache
from typing import TYPE_CHECKING, Any

from citeproof.graphs.registry import METHODS, Method

if TYPE_CHECKING:
    from citeproof.tools.toolbox import Toolbox

_opening = threading.Lock()


def _serve(method: Method) -> Callable[[], Coroutine[Any, Any, Any]]:
    async def graph() -> Any:
        # The server calls this for each run and each form; imports and models must not block its
        # event loop.
        return await asyncio.to_thread(_build, method)

    return graph


def _build(method: Method) -> Any:
    with _opening:
        return _build_once(method)


@cache
def _build_once(method: Method) -> Any:
    return method.build(_open_once())


@cache
def _open_once() -> Toolbox:
    from citeproof.tools.toolbox import Toolbox

    tools = Toolbox.from_settings()
    atexit.register(tools.close)
    return tools


# The server looks functions up in the module's dictionary, which `__getattr__` does not fill.
globals().update({own.identifier: _serve(own) for own in METHODS.values() if own.served})
