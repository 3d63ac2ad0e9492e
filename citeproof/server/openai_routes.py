"""`/v1`: the methods as models of an OpenAI-compatible server.

`check:NAME` talks to the language model itself and proves its answer afterwards.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Literal

from fastapi import APIRouter, Request
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, field_validator
from starlette.responses import JSONResponse, Response

from citeproof.errors import InputError
from citeproof.graphs.registry import METHODS
from citeproof.integrations.disconnect import until_gone
from citeproof.integrations.turns import Turn
from citeproof.runtime.events import AnswerReady, ClaimAccepted
from citeproof.runtime.meter import Meter, use_meter
from citeproof.server import openai_shapes as shapes
from citeproof.server.asking import LONGEST_CONVERSATION, Asking, Message, Question, Words
from citeproof.server.errors import NotFoundError, describe
from citeproof.server.public import base_of, with_links
from citeproof.server.sse import EventStream, frame
from citeproof.text import whole
from citeproof.tools.checking.check import check
from citeproof.tools.citations.marks import join_claims, strip_flags
from citeproof.types import Answer, CheckReport, Citation, Claim, Usage

_KINDS: dict[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "developer": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}
_MAX_TOKENS = 1_024


_Reply = tuple[dict[str, Any], Usage]
"""A message of the assistant, and its usage."""


def _refuse_chat(messages: Sequence[Message]) -> None:
    """Refuse a conversation that is empty, too long, or has an unknown role."""
    if unknown := {own.role for own in messages} - _KINDS.keys():
        raise InputError(
            f"Messages of the role {', '.join(sorted(unknown))} cannot be forwarded",
            fix=f"Known: {', '.join(_KINDS)}.",
        )
    if not messages or messages[-1].role != "user":
        raise InputError("There is not a question", fix="End with a user message.")
    if sum(len(own.content) for own in messages) > LONGEST_CONVERSATION:
        raise InputError("The conversation is too long", fix="Leave out its beginning.")


async def _chat_and_check(
    asking: Asking,
    messages: Sequence[Message],
    base: str,
    max_tokens: int | None,
    turn: Turn | None = None,
) -> _Reply:
    """Forward a conversation when its turn comes, and prove the answer against the index."""
    async with asking.turns.turn(turn):
        tools = await asking.opening.tools()
        forwarded = [_KINDS[own.role](own.content) for own in messages]
        with use_meter(Meter()) as meter:
            # Some clients send -1 for "no limit".
            limit = min(max_tokens, _MAX_TOKENS) if max_tokens and max_tokens > 0 else _MAX_TOKENS
            reply = await tools.llm.for_role("answerer").send(forwarded, max_tokens=limit)
            text = str(reply.text)
            report = CheckReport(model=tools.entailment.name, threshold=tools.entailment.threshold)
            if tools.retriever is not None:
                report = await check(text, (), tools.entailment, retriever=tools.retriever)
    report = with_links(report, base)
    message = {
        "role": "assistant",
        "content": text,
        "annotations": shapes.annotate_check(text, report),
        "citeproof": report.model_dump(mode="json", include={"counts", "sentences"}),
    }
    return message, meter.total()


class ChatMessage(Message):
    """A message whose content may be in parts."""

    content: Words = ""

    @field_validator("content", mode="before")
    @classmethod
    def _join(cls, content: Any) -> Any:
        if not isinstance(content, list):
            return content or ""
        try:
            if others := {str(part["type"]) for part in content} - {"text"}:
                told = whole(", ".join(sorted(others)))
                raise ValueError(f"only text is read; leave out {told}")
            return "\n".join(part["text"] for part in content)
        except (KeyError, TypeError) as error:
            raise ValueError("each part needs a type, and the type text a text") from error


class ChatBody(BaseModel):
    """A request for a completion; other fields, such as a temperature, are ignored."""

    model: str
    messages: list[ChatMessage]
    n: Literal[1] | None = 1
    """Number of answers."""
    stream: bool | None = False
    stream_options: dict[str, Any] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    parameters: dict[str, Any] = {}
    """Parameters of the method."""


def openai_routes(asking: Asking, llm: str) -> APIRouter:
    """Build the routes."""
    router = APIRouter(prefix="/v1")
    checked = f"check:{llm}"

    @router.get("/models", summary="Methods, and the model whose answers are checked")
    async def models() -> dict[str, Any]:
        """List the models, in OpenAI's shape."""
        listed = [shapes.model(own.name, own.about) for own in METHODS.values() if own.served]
        about = "the language model as it is; its answer is checked against the documents"
        return {"object": "list", "data": [*listed, shapes.model(checked, about)]}

    @router.get("/models/{name:path}", summary="A model")
    async def one(name: str) -> dict[str, Any]:
        """Return a model, in OpenAI's shape."""
        for found in (await models())["data"]:
            if found["id"] == name:
                return dict(found)
        raise NotFoundError(f"There is no model {name!r}", fix="List them: /v1/models.")

    @router.post("/chat/completions", summary="Answer a conversation", response_model=None)
    async def complete(body: ChatBody, request: Request) -> Response:
        """Answer in OpenAI's shape, with citations as annotations."""
        name, key, base = body.model, uuid.uuid4().hex, base_of(request)
        with_usage = bool((body.stream_options or {}).get("include_usage"))
        if name == checked:
            _refuse_chat(body.messages)
            limit = body.max_completion_tokens or body.max_tokens
            reply = partial(_chat_and_check, asking, body.messages, base, limit)
            if body.stream:
                turn = asking.turns.queue()
                return EventStream(_frames(_once(reply(turn)), name, key, with_usage), turn.close)
            message, used = await until_gone(request, reply())
        elif name in METHODS:
            question = asking.question(list(body.messages), name, body.parameters)
            if body.stream:
                pieces = _pieces(asking, question, base)
                frames = _frames(pieces, name, key, with_usage)
                return EventStream(frames, asking.queue(question).close)
            run = await until_gone(request, asking.answer(question))
            message, used = _message(run.answer, base), run.answer.usage
        else:
            raise NotFoundError(f"There is no model {name!r}", fix="List them: /v1/models.")
        return JSONResponse(shapes.completion(name, key, message, used))

    return router


async def _frames(
    pieces: AsyncIterator[_Reply], name: str, key: str, with_usage: bool
) -> AsyncIterator[str]:
    """Yield the pieces of a message as chunks, then the usage of the last piece, or an error."""
    try:
        used = Usage()
        yield frame(shapes.chunk(name, key, {"role": "assistant", "content": ""}))
        async for piece, used in pieces:  # noqa: B007  the last one counts
            yield frame(shapes.chunk(name, key, piece))
        yield frame(shapes.chunk(name, key, {}, "stop"))
        if with_usage:
            last = {**shapes.chunk(name, key, {}), "choices": []}
            yield frame({**last, "usage": shapes.usage(used)})
    except Exception as error:
        yield frame(describe(error)[1])
    yield frame("[DONE]")


async def _once(work: Awaitable[_Reply]) -> AsyncIterator[_Reply]:
    yield await work


async def _pieces(asking: Asking, question: Question, base: str) -> AsyncIterator[_Reply]:
    """Yield accepted claims while all are supported, then the rest and the annotations."""
    sent, claims = "", list[Claim]()
    numbers: dict[str, int] = {}
    answer: Answer | None = None
    async with aclosing(asking.moments(question)) as moments:
        async for moment in moments:
            if isinstance(moment.event, AnswerReady):
                answer = moment.event.answer
            if not isinstance(moment.event, ClaimAccepted) or moment.namespace:
                continue
            claims.append(_renumber(moment.event.claim, numbers))
            if all(claim.verdict.status == "supported" for claim in claims):
                said = strip_flags(join_claims(claims))
                yield {"content": said[len(sent) :]}, Usage()
                sent = said
    assert answer is not None, "a run ends with its answer"
    rest, offset = shapes.unsent_text(sent, answer)
    message = _message(answer, base, offset)
    message["content"] = rest if answer.text else message["content"]
    yield message, answer.usage


def _message(answer: Answer, base: str, offset: int = 0) -> dict[str, Any]:
    claims = [
        {"text": own.text, "verdict": own.verdict.status, "score": own.verdict.score}
        for own in answer.claims
    ]
    told = answer.model_dump(include={"status", "reason", "question"})
    return {
        "role": "assistant",
        "content": answer.text or answer.reason,
        "annotations": shapes.annotate_answer(with_links(answer, base), offset),
        "citeproof": {**told, "claims": claims},
    }


def _renumber(claim: Claim, numbers: dict[str, int]) -> Claim:
    """Give a claim's citations the numbers that their passages will have in the answer."""

    def number(citation: Citation) -> Citation:
        own = numbers.setdefault(citation.passage_id, len(numbers) + 1)
        return citation.model_copy(update={"number": own})

    cited = sorted(map(number, claim.citations), key=lambda own: own.number)
    return claim.model_copy(update={"citations": tuple(cited)})
