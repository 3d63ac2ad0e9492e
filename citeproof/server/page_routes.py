"""The web page, its style and script, and answers to show and save."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from citeproof.graphs.registry import METHODS
from citeproof.pages.render import asset, fragment
from citeproof.server.asking import LONGEST_CLAIM
from citeproof.server.conversations import Conversations
from citeproof.server.errors import NotFoundError
from citeproof.server.public import with_links
from citeproof.server.runs import MOST, Run, Runs
from citeproof.tools.documents.files import READERS

_STATIC = {"page.css": "text/css", "serve.css": "text/css"} | dict.fromkeys(
    ("page.js", "serve.js"), "text/javascript"
)


def page_routes(runs: Runs, conversations: Conversations) -> APIRouter:
    """Build the routes."""
    router = APIRouter()

    @router.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        methods = [method for method in METHODS.values() if method.served]
        endings = ", ".join(READERS)
        given = {"methods": methods, "endings": endings, "longest_claim": LONGEST_CLAIM}
        return HTMLResponse(fragment("serve.html", **given))

    @router.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in _STATIC:
            raise NotFoundError("There is no such file")
        text = asset(name)
        if name == "page.css":
            text += f"\n.graph {{{asset('graph.css')}}}"
        return Response(text, media_type=_STATIC[name], headers={"cache-control": "no-cache"})

    @router.get("/runs/{name}", include_in_schema=False)
    async def run(name: str) -> Response:
        key, _, kind = name.partition(".")
        found = runs.get(key)
        if not kind:
            return HTMLResponse(found.fragment())
        forms = {
            "html": ("text/html", found.page),
            "md": ("text/markdown", found.markdown),
            "json": ("application/json", found.json),
        }
        if kind not in forms:
            raise NotFoundError("There is no such format", fix="Use html, md or json.")
        media, render = forms[kind]
        headers = {"content-disposition": f'attachment; filename="answer.{kind}"'}
        return Response(render(), media_type=media, headers=headers)

    @router.get("/api/conversations", summary="List the conversations")
    async def list_conversations() -> dict[str, Any]:
        """List ids, titles and times, the latest first."""
        return {"conversations": await conversations.titles()}

    @router.get("/api/conversations/{name:path}", summary="A conversation")
    async def conversation(name: str) -> dict[str, Any]:
        """Return its latest 100 questions that were answered, and the answers, in order."""
        turns = (await conversations.known(name))[-MOST:]
        for turn in turns:
            runs.keep(Run(turn.run, turn.answer))
        return {
            "turns": [
                {"run": turn.run, "asked": turn.asked, "answer": with_links(turn.answer)}
                for turn in turns
            ]
        }

    @router.delete("/api/conversations/{name:path}", summary="Forget a conversation")
    async def forget(name: str) -> dict[str, Any]:
        """Delete its questions and answers."""
        for turn in await conversations.delete(name):
            runs.drop(turn.run)
        return {"removed": name}

    return router
