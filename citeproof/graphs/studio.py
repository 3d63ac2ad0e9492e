"""The LangGraph server's own app, which `langgraph.json` names: keeps foreign web sites out."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from citeproof.guard import LocalOnlyGuard

__all__ = ["STUDIO", "app"]

STUDIO = ("https://smith.langchain.com", "https://eu.smith.langchain.com")
"""Where LangChain hosts Studio's page."""


class _StudioGuard:
    """The guard for requests that come from outside of the process.

    The server calls itself under a name that nobody else can use, as `/noauth`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._inside = app
        self._guarded = LocalOnlyGuard(app, allowed_origins=STUDIO)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root = scope.get("root_path", "")
        is_own = root == "/noauth" or root.startswith("/noauth/")
        await (self._inside if is_own else self._guarded)(scope, receive, send)


app = Starlette(middleware=[Middleware(_StudioGuard)])
"""LangGraph puts its routes into it, behind the guard."""
