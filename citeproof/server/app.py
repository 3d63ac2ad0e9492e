"""The app: its routes, error handlers and lifespan."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.responses import JSONResponse
from starlette.types import ASGIApp

from citeproof.console.threads import Checkpoints
from citeproof.errors import CiteproofError
from citeproof.guard import LOOPBACK
from citeproof.integrations.turns import Turns
from citeproof.models.progress import Progress
from citeproof.server.ask_routes import ask_routes
from citeproof.server.asking import Asking
from citeproof.server.conversations import Conversations
from citeproof.server.document_routes import document_routes
from citeproof.server.errors import add_errors
from citeproof.server.model_routes import model_routes
from citeproof.server.openai_routes import openai_routes
from citeproof.server.opening import Opening
from citeproof.server.page_routes import page_routes
from citeproof.server.runs import Runs
from citeproof.server.safety import protect
from citeproof.server.warm_routes import warm_routes

if TYPE_CHECKING:
    from citeproof.tools.toolbox import Toolbox

_log = logging.getLogger("citeproof.server")


def create_app(
    open_tools: Callable[[Progress], Toolbox],
    folder: Path,
    *,
    checkpointer: str = "sqlite",
    llm: str = "local",
    hosts: Sequence[str] = LOOPBACK,
    token: str | None = None,
    own: str | None = None,
    at_once: int = 8,
    waiting: int = 32,
    model_requests: int = 16,
) -> ASGIApp:
    """Create the app, behind its protection.

    Args:
        open_tools: Opens models and index; called in a thread when the server starts.
        folder: The store's folder, which holds added documents and, by default, conversations.
        checkpointer: Where conversations are kept: the setting of that name.
        llm: The name of the language model, for `check:NAME`.
        hosts: Host names of the server.
        token: If set, required for everything except the health checks.
        own: The token for the command lines of the server's user; without it they load their own
            models.
        at_once: Questions answered at a time.
        waiting: Further questions that may wait; any more are refused with 429.
        model_requests: Requests to the models themselves handled at a time; eight times as many
            may wait.
    """
    opening, runs = Opening(open_tools), Runs()
    checkpoints = Checkpoints(folder, checkpointer)
    conversations = Conversations(checkpoints)
    asking = Asking(opening, Turns(at_once, waiting), runs, conversations)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with conversations.opened():
            opening.start()
            protocol = asyncio.create_task(_serve_mcp(app, asking))
            try:
                yield
            finally:
                protocol.cancel()
                with suppress(asyncio.CancelledError):
                    await protocol
                await opening.close()

    # Swagger's page loads scripts from elsewhere; the OpenAPI description alone does not.
    app = FastAPI(
        title="citeproof",
        version=version("citeproof"),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    add_errors(app)

    @app.get("/healthz", summary="Whether the server runs")
    async def healthz() -> dict[str, str]:
        """Return 200 whenever the server runs."""
        return {"status": "ok"}

    @app.get("/readyz", summary="Whether the models are loaded", response_model=None)
    async def readyz() -> JSONResponse:
        """Return 503 while the models are loading, with what is being loaded."""
        state: dict[str, Any] = opening.state()
        return JSONResponse(state, 200 if state["ready"] else 503)

    app.include_router(ask_routes(asking))
    app.include_router(document_routes(opening, folder / "documents"))
    app.include_router(openai_routes(asking, llm))
    app.include_router(model_routes(opening, Turns(model_requests, 8 * model_requests)))
    app.include_router(page_routes(runs, conversations))
    app.include_router(warm_routes(asking, checkpoints))
    return protect(app, hosts, token, own)


async def _serve_mcp(app: FastAPI, asking: Asking) -> None:
    """Serve the Model Context Protocol at `/mcp` as soon as the tools are open."""
    try:
        tools = await asking.opening.tools()
        from citeproof.integrations.mcp_server import build_mcp_server  # slow, so imported late
        from citeproof.server.mcp_calls import ServedCalls, quotes_no_request

        # It quotes requests, also at the root, and reports clients that leave as errors.
        logging.getLogger("mcp").setLevel(logging.CRITICAL)
        logging.root.addFilter(quotes_no_request)
        calls = ServedCalls(tools, asking)
        # The guard around the app checks the hosts.
        server = build_mcp_server(tools, check_hosts=False, calls=calls)
        app.router.routes.extend(server.streamable_http_app().routes)
        async with server.session_manager.run():
            await asyncio.Event().wait()
    except CiteproofError:
        pass  # `/readyz` reports it
    except Exception:  # the questions are answered all the same
        _log.exception("/mcp is not served")
