"""`/api/ask`, `/api/check` and `/api/methods`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import cache
from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from citeproof.graphs.registry import METHODS
from citeproof.integrations.disconnect import until_gone
from citeproof.runtime.moments import NodeFinished, NodeStarted
from citeproof.server.asking import (
    LONGEST_CLAIM,
    Asking,
    Message,
    Question,
    Words,
    refuse_nothing,
)
from citeproof.server.public import base_of, with_links
from citeproof.server.sse import EventStream, frame
from citeproof.types import CheckReport

LONGEST_TEXT = 50_000
"""Most characters of a text to check."""


class AskBody(BaseModel, extra="forbid"):
    """A question, alone or as the last message of a conversation."""

    question: Words = ""
    messages: list[Message] = []
    method: str = "vtg"
    parameters: dict[str, Any] = {}
    conversation: str | None = Field(default=None, pattern=r"^\P{Cc}{1,200}$")
    """Name under which the conversation is kept; without it nothing is kept."""
    stream: bool = True


class Decision(BaseModel, extra="forbid"):
    """A person's decision on a claim that nothing proves."""

    decision: Literal["approve", "edit", "drop"]
    text: str = Field(default="", max_length=LONGEST_CLAIM)
    """The new wording of an edited claim."""


class CheckBody(BaseModel, extra="forbid"):
    """A text to check, whoever wrote it."""

    text: str = Field(min_length=1, max_length=LONGEST_TEXT)
    k: int = Field(default=5, ge=1, le=20)
    """Passages to try for each sentence."""


def ask_routes(asking: Asking) -> APIRouter:
    """Build the routes."""
    router = APIRouter(prefix="/api")

    @router.post("/ask", summary="Answer a question", response_model=None)
    async def ask(body: AskBody, request: Request) -> Response:
        """Stream events as in `docs/events.schema.json`, or return the answer as JSON."""
        said = list(body.messages)
        if body.question:
            said.append(Message(role="user", content=body.question))
        question = asking.question(
            said, body.method, body.parameters, body.conversation, attended=body.stream
        )
        base = base_of(request)
        if body.stream:
            return EventStream(_frames(asking, question, base), asking.queue(question).close)
        run = await until_gone(request, asking.answer(question))
        return JSONResponse(with_links(run.answer, base).model_dump(mode="json"))

    @router.post("/ask/{run}/decision", summary="Decide on a claim", response_model=None)
    async def decide(run: str, body: Decision) -> Response:
        """Decide on the claim of the last `review_requested`."""
        asking.reviews.decide(run, body.model_dump())
        return Response(status_code=204)

    @router.post("/check", summary="Check a text against the index", response_model=None)
    async def check_text(body: CheckBody, request: Request) -> Response:
        """Return which sentences of a text the documents support."""
        report = await until_gone(request, check_against_index(asking, body.text, body.k))
        return JSONResponse(with_links(report, base_of(request)).model_dump(mode="json"))

    @router.get("/methods", summary="The methods and their parameters")
    async def methods() -> dict[str, Any]:
        """List each method's purpose and cost, with a JSON schema of its parameters."""
        return {"methods": await asyncio.to_thread(described_methods)}

    return router


@cache
def described_methods() -> list[dict[str, Any]]:
    """Describe each method with its parameters' JSON schema; the first call imports the graphs."""
    described = []
    for method in METHODS.values():
        if method.served:
            schema = method.parameters.model_json_schema()
            schema["properties"].pop("prompts", None)
            told = {"name": method.name, "about": method.about, "cost": method.cost}
            described.append({**told, "paper": method.paper, "parameters": schema})
    return described


async def check_against_index(asking: Asking, text: str, k: int = 5) -> CheckReport:
    """Check a text when its turn comes."""
    # It loads LangChain's tools, which the page must not wait for.
    from citeproof.integrations.agent_tools import check_with_index

    async with asking.turns.turn():
        tools = await asking.opening.tools()
        await refuse_nothing(tools)
        return await check_with_index(tools, text, k)


async def _frames(asking: Asking, question: Question, base: str) -> AsyncIterator[str]:
    yield frame({"run": question.run, "conversation": question.conversation}, "run")
    state = asking.opening.state()
    if not state["ready"] or asking.turns.full:
        yield frame({"loading": state.get("loading")}, "waiting")
    async with aclosing(asking.moments(question)) as moments:
        is_begun = False
        async for moment in moments:
            if not is_begun:
                is_begun = True
                yield frame({"run": question.run}, "started")
            if isinstance(moment.event, NodeStarted | NodeFinished):
                continue
            event = with_links(moment.event, base)
            yield frame(event.model_dump_json(), event.type)
