"""The custom app of the LangGraph server, named in `langgraph.json`: keeps other web sites out."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from citeproof.guard import LocalOnlyGuard

__all__ = ["STUDIO", "app"]

STUDIO = ("https://smith.langchain.com", "https://eu.smith.langchain.com")
"""The sites where LangChain hosts Studio."""


class _StudioGuard:
    """The guard for requests from outside the process.

    The server calls itself under `/noauth`, a root path that nobody else can use.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._inside = app
        self._guarded = LocalOnlyGuard(app, allowed_origins=STUDIO)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root = scope.get("root_path", "")
        is_own = root == "/noauth" or root.startswith("/noauth/")
        await (self._inside if is_own else self._guarded)(scope, receive, send)


app = Starlette(middleware=[Middleware(_StudioGuard)])
"""LangGraph adds its routes to this app, behind the guard."""
