"""`/api/warm`: runs for the command lines of the server's user."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from citeproof.console.runs import LocalRuns
from citeproof.console.threads import Checkpoints, Thread
from citeproof.console.warm import PATH
from citeproof.graphs.registry import find_method
from citeproof.integrations.disconnect import until_gone
from citeproof.runtime.events import ReviewRequested
from citeproof.server.ask_routes import Decision, check_against_index
from citeproof.server.asking import Asking, refuse_nothing
from citeproof.server.sse import EventStream, frame
from citeproof.types import CheckReport


class Wish(BaseModel, extra="forbid"):
    """A request of the command line."""

    method: str
    parameters: dict[str, Any] = {}
    question: str = ""
    review: bool = False
    thread: str | None = None
    kind: Literal["named", "automatic", "passing"] = "named"


class Text(BaseModel):
    """A text to check."""

    text: str
    k: int = 5


def warm_routes(asking: Asking, checkpoints: Checkpoints) -> APIRouter:
    """Build the routes, which need the server's own token."""
    router = APIRouter(prefix=PATH, include_in_schema=False)
    passing: dict[str, Thread] = {}

    def thread(wish: Wish) -> Thread:
        name = wish.thread or ""
        if wish.kind == "passing":
            return passing.setdefault(name, Thread(name))
        return Thread(name, checkpoints, automatic=wish.kind == "automatic")

    async def runs(wish: Wish) -> LocalRuns:
        tools = await asking.opening.tools()
        method = find_method(wish.method)
        known = method.parameters.model_fields
        given = {name: value for name, value in wish.parameters.items() if name in known}
        await refuse_nothing(tools, method.parameters(**given))
        return LocalRuns(partial(method.build, tools, **wish.parameters))

    @router.get("", response_model=None)
    async def lives() -> JSONResponse:
        """Return 503 if the models could not be opened: commands then load their own."""
        state = asking.opening.state()
        return JSONResponse({"ready": state["ready"]}, 503 if "error" in state else 200)

    async def frames(wish: Wish) -> AsyncIterator[str]:
        """Yield the moments of a run when its turn comes, with the thread's state at both ends."""
        run, kept = uuid.uuid4().hex, None if wish.thread is None else thread(wish)
        yield frame({"run": run}, "run")
        async with AsyncExitStack() as held:
            held.enter_context(asking.conversations.alone(wish.thread))
            turn = await held.enter_async_context(asking.turns.turn())
            own = await runs(wish)

            def keep() -> str:
                is_kept = kept is not None and kept.is_kept
                return frame({"goes_on": own.goes_on, "is_kept": is_kept}, "kept")

            is_begun = False
            decide = partial(asking.reviews.decision, run, turn)
            told = own.ask(wish.question, kept, decide, review=wish.review)
            async with aclosing(told) as moments:
                async for moment in moments:
                    if not is_begun:
                        is_begun = True
                        yield keep()
                    if isinstance(moment.event, ReviewRequested):
                        asking.reviews.expect(run, turn)
                    yield frame(moment.model_dump_json(), "moment")
        yield keep()

    @router.post("/ask")
    async def ask(wish: Wish) -> Response:
        return EventStream(frames(wish))

    @router.post("/begun")
    async def begun(wish: Wish) -> dict[str, Any]:
        answer, questions = await (await runs(wish)).begun(thread(wish))
        return {"answer": answer, "questions": questions}

    @router.post("/forget")
    async def forget(wish: Wish) -> dict[str, Any]:
        with asking.conversations.alone(wish.thread):
            await (await runs(wish)).forget(thread(wish))
        passing.pop(wish.thread or "", None)
        return {}

    @router.post("/decision/{run}")
    async def decide(run: str, body: Decision) -> dict[str, Any]:
        asking.reviews.decide(run, body.model_dump())
        return {}

    @router.post("/check")
    async def check_text(body: Text, request: Request) -> CheckReport:
        return await until_gone(request, check_against_index(asking, body.text, body.k))

    return router
