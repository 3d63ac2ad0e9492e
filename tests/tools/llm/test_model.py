"""The language model: text, objects and choices, and what happens when the server fails."""

import asyncio
import json
import math
import os
import subprocess
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel, FakeMessagesListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field, SecretStr
from typing_extensions import TypedDict

from citeproof.errors import (
    BudgetExceededError,
    InputError,
    MissingExtraError,
    ModelError,
    ModelOutageError,
    ModelReplyError,
    SettingsError,
)
from citeproof.prompts import Prompt
from citeproof.runtime.events import LLMCalled, LLMWaiting
from citeproof.runtime.meter import Meter, use_meter
from citeproof.settings import BudgetSettings, LLMSettings, ModelSettings
from citeproof.testing import Choice, ScriptedChatModel
from citeproof.tools.llm.model import LLM
from citeproof.tools.llm.opening import coerce_llm, open_llm
from citeproof.tools.llm.retries import is_transient, retry_after, scrub, translate
from citeproof.types import Usage
from tests.chain import chain
from tests.tools.openai_stub import Reply, Stub, serve

ASK = Prompt("System line.", "Question and passages.", "The task.")
KEY = "sk-top-secret-1234"
OnDelta = Callable[[str], None] | None
YES_NO = ("Yes", "No")
CITED = '{"citations": [2]}'
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}}


class Inner(BaseModel):
    """An inner object."""

    number: int = 3
    note: str | None = None


class Cited(BaseModel):
    """Which passages."""

    citations: list[int] = Field(max_length=3)
    inner: Inner = Field(default=Inner(), description="more")


class Asked(TypedDict):
    """A graph's state."""

    said: str


def ignore(_: str) -> None:
    """Take a piece of a reply that is streamed."""


streamed_or_not = pytest.mark.parametrize("on_delta", [ignore, None], ids=["streamed", "whole"])


def at(stub: Stub, role: str = "default", **more: Any) -> LLM:
    settings = LLMSettings(model="m", base_url=stub.url, **{"retries": 2, **more})
    llm = open_llm(settings, ModelSettings(), role=role)
    llm._backoff = 0.0
    return llm


# -- text


async def test_the_shared_prefix_comes_first_and_settings_are_sent() -> None:
    with serve([Reply("Hello.")]) as stub:
        llm = at(stub, temperature=0.25, seed=7)
        assert await llm.text(ASK, max_tokens=33, stop=["\n"]) == "Hello."
        assert await llm.text(Prompt("", "", "Only."), temperature=1.0) == "Hello."
    first, second = stub.requests
    assert first["messages"] == [
        {"role": "system", "content": "System line."},
        {"role": "user", "content": "Question and passages.\n\nThe task."},
    ]
    assert (first["model"], first["temperature"], first["seed"]) == ("m", 0.25, 7)
    assert (first["max_completion_tokens"], first["stop"]) == (33, ["\n"])
    assert second["messages"] == [{"role": "user", "content": "Only."}]
    assert second["temperature"] == 1.0


@pytest.mark.parametrize(("seed", "sent"), [(7, [7, 8, 9]), (None, [None] * 3)])
async def test_each_sample_has_a_seed_of_its_own(seed: int | None, sent: list[int | None]) -> None:
    with serve([Reply("Hello.")]) as stub:
        llm = at(stub, seed=seed)
        for sample in range(3):
            await llm.text(ASK, temperature=1.0, sample=sample)
    assert [request.get("seed") for request in stub.requests] == sent


async def test_no_key_of_the_environment_goes_to_a_server_of_ones_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_PROXY", "http://192.0.2.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://192.0.2.1:9")
    with serve([Reply()]) as stub:
        await at(stub).text(ASK)
        await at(stub, api_key=SecretStr("own-key")).text(ASK)
    assert stub.keys == ["Bearer not-needed", "Bearer own-key"]


async def test_control_characters_are_removed() -> None:
    pieces: list[str] = []
    with serve([Reply("a\x00b\x1b[31m\tc\r\nd\x9f")]) as stub:
        said = [await at(stub).text(ASK), await at(stub).text(ASK, on_delta=pieces.append)]
    assert [*said, "".join(pieces)] == ["ab[31m\tc\nd"] * 3


async def test_tokens_are_counted_streamed_or_not() -> None:
    usage: Any = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    usage |= {"prompt_tokens_details": {"cached_tokens": 80}}
    with serve([Reply("One two three.", usage=usage)]) as stub, use_meter(Meter()) as meter:
        assert await at(stub).text(ASK) == "One two three."
        expected = Usage(llm_calls=1, prompt_tokens=100, cached_tokens=80, completion_tokens=5)
        assert meter.used == expected
        pieces: list[str] = []
        assert await at(stub).text(ASK, on_delta=pieces.append) == "One two three."
        assert pieces == ["One ", "two ", "three."]
        assert meter.used == expected + expected
    assert stub.requests[1]["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(("wish", "sent"), [(None, True), (True, True), (False, False)])
async def test_a_model_that_must_not_count_its_stream_does_not(
    wish: bool | None, sent: bool
) -> None:
    with serve([Reply("Fine.")]) as stub:
        model = ChatOpenAI(model="m", base_url=stub.url, api_key=SecretStr("k"), stream_usage=wish)
        assert await LLM(model).text(ASK, on_delta=ignore) == "Fine."
    assert ("stream_options" in stub.requests[0]) is sent


async def test_usage_that_is_missing_counts_as_zero() -> None:
    with use_meter(Meter()) as meter:
        await LLM(Plain(replies=["x"])).text(ASK)
    assert meter.used == Usage(llm_calls=1)


async def test_a_stream_that_breaks_is_taken_up_without_repeats() -> None:
    script = [Reply("One two three.", cut_after=2), Reply("One two three.")]
    with serve(script) as stub, use_meter(Meter()) as meter:
        pieces: list[str] = []
        assert await at(stub).text(ASK, on_delta=pieces.append) == "One two three."
    assert pieces == ["One ", "two ", "three."]
    assert meter.used.llm_calls == 2


# -- retries


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504])
async def test_what_passes_is_tried_again(status: int) -> None:
    with serve([Reply(status=status), Reply("Fine.")]) as stub, use_meter(Meter()) as meter:
        assert await at(stub).text(ASK) == "Fine."
    assert len(stub.requests) == 2
    assert meter.used.llm_calls == 2


async def test_an_outage_says_who_why_and_what_to_do() -> None:
    with serve([Reply(status=500, error=f"boom {KEY}")]) as stub, use_meter(Meter()) as meter:
        llm = at(stub, api_key=SecretStr(KEY))
        with pytest.raises(ModelOutageError) as caught:
            await llm.text(ASK)
    message = str(caught.value)
    assert f"No answer from m at {stub.url} after 3 attempts: HTTP 500" in message
    assert "boom ***" in message
    assert "Try again later." in message
    assert KEY not in message + "".join(traceback.format_exception(caught.value)) + repr(llm)
    assert meter.used == Usage(llm_calls=3)


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (401, f"bad key {KEY}", "Check llm.api_key (CITEPROOF_LLM__API_KEY)"),
        (403, "no", "Check llm.api_key"),
        (404, "no such model", "Check llm.model and llm.base_url"),
        (400, "exceeds the available context size", "Use fewer passages"),
        (429, "insufficient_quota", "quota is used up"),
        (400, "odd", "HTTP 400"),
    ],
)
async def test_what_stays_is_told_at_once(status: int, error: str, expected: str) -> None:
    with serve([Reply(status=status, error=error)]) as stub, pytest.raises(ModelError) as caught:
        await at(stub, api_key=SecretStr(KEY)).text(ASK)
    assert type(caught.value) is ModelError
    assert expected in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert len(stub.requests) == 1


async def test_retry_after_is_honoured() -> None:
    script = [Reply(status=429, headers={"retry-after": "0.4"}), Reply("Fine.")]
    with serve(script) as stub:
        assert await at(stub).text(ASK) == "Fine."
    assert stub.times[1] - stub.times[0] >= 0.4


async def test_a_server_that_asks_for_too_long_a_wait_is_an_outage_at_once() -> None:
    script = [Reply(status=503, headers={"retry-after": "3600"})]
    with serve(script) as stub, pytest.raises(ModelOutageError):
        await at(stub).text(ASK)
    assert len(stub.requests) == 1


def test_retry_after_may_be_a_date_or_say_nothing() -> None:
    def seconds(value: str) -> float | None:
        error: Any = RuntimeError()
        error.response = SimpleNamespace(headers={"retry-after": value})
        return retry_after(error)

    date = format_datetime(datetime.now(UTC) + timedelta(seconds=50))
    assert seconds(date) == pytest.approx(50, abs=5)
    nothing = ["-5", "nan", "Mon, 01 Jan 2001 00:00:00 GMT", "soon"]
    assert [seconds(value) for value in nothing] == [None] * 4


async def test_a_timeout_is_retried_then_an_outage() -> None:
    with serve([Reply(delay=1.0)]) as stub:
        began = time.monotonic()
        with pytest.raises(ModelOutageError, match="after 2 attempts.*llm.timeout"):
            await at(stub, timeout=0.2, retries=1).text(ASK)
        assert time.monotonic() - began < 2
    with serve([Reply(delay=1.0), Reply("Fine.")]) as stub:
        assert await at(stub, timeout=0.3).text(ASK, on_delta=ignore) == "Fine."


async def test_nobody_listening_is_an_outage() -> None:
    with serve([Reply()]) as stub:
        pass
    with pytest.raises(ModelOutageError, match=r"after 3 attempts: Connection error.*server runs"):
        await at(stub).text(ASK)


@streamed_or_not
@pytest.mark.parametrize(
    ("body", "why", "tries"),
    [
        ("<!DOCTYPE html><html>Log in</html>", "it sent an HTML page", 1),
        ('{"choices": [{"message": {"cont', "its reply breaks off", 3),
        ("", "it sent nothing", 3),
        ("Bad gateway", "it sent no JSON: 'Bad gateway'", 1),
        ("[]", r"its JSON is not a reply of a language model: '\[\]'", 1),
        ("{}", "its JSON is not a reply", 1),
        ('{"choices": []}', "its reply holds no choices", 1),
        ('{"error": {"message": "out of memory"}}', "it reports an error: .*out of memory", 1),
    ],
)
async def test_what_is_no_reply_is_told_as_what_it_is(
    body: str, why: str, tries: int, on_delta: OnDelta
) -> None:
    with (
        serve([Reply(body=body)]) as stub,
        pytest.raises(ModelError, match=f"m at {stub.url}.*: {why}"),
    ):
        await at(stub).text(ASK, on_delta=on_delta)
    assert len(stub.requests) == tries


@streamed_or_not
@pytest.mark.parametrize(
    "reply",
    [
        Reply("", finish="content_filter"),
        Reply("", finish="RECITATION"),
        Reply(status=400, error="The response was filtered: content management policy"),
    ],
)
async def test_a_content_filter_is_named_and_the_address_not_blamed(
    reply: Reply, on_delta: OnDelta
) -> None:
    with (
        serve([reply]) as stub,
        pytest.raises(ModelError, match=r"content (filter|management).*Rephrase") as told,
    ):
        await at(stub).text(ASK, on_delta=on_delta)
    assert "base_url" not in str(told.value)


async def test_a_flood_is_cut_off_where_the_reply_is_full() -> None:
    pieces: list[str] = []
    with serve([Reply("word " * 200_000)]) as stub:
        began = time.monotonic()
        said = await at(stub).text(ASK, max_tokens=8, on_delta=pieces.append)
        assert time.monotonic() - began < 5
    assert said.startswith("word word")
    assert len(said) <= 8 * 32
    assert len(pieces) < 100


async def test_a_flood_without_words_obeys_the_timeout() -> None:
    async def forever(*_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        while True:
            yield ChatGenerationChunk(message=AIMessageChunk(content=""))

    model = ScriptedChatModel(["x"])
    object.__setattr__(model, "_astream", forever)
    asked = LLM(model, retries=0).text(ASK, max_tokens=10**7, on_delta=ignore)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asked, 0.3)


async def test_a_body_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citeproof.tools.transport.LONGEST", 1_000)
    told = "its reply has more than 1,000 bytes"
    with serve([Reply("word " * 1_000)]) as stub, pytest.raises(ModelError, match=told):
        await at(stub).text(ASK)


def test_each_wait_is_told() -> None:
    key = "gateway-word"

    def node(state: Asked) -> Asked:
        return {"said": asyncio.run(at(stub, "judge", api_key=SecretStr(key)).text(ASK))}

    graph = chain(Asked, node=node).compile()
    busy = Reply(status=503, headers={"retry-after": "0.1"}, error=f"busy with {key}")
    with serve([busy, Reply("Fine.")]) as stub:
        told, _ = graph.stream({"said": ""}, stream_mode="custom")
    assert isinstance(told, LLMWaiting)
    assert told == LLMWaiting(role="judge", seconds=0.1, attempt=2, attempts=3, why=told.why)
    assert "HTTP 503" in told.why
    assert "busy with ***" in told.why
    assert key not in told.why


async def test_the_budget_is_checked_before_every_attempt() -> None:
    with (
        serve([Reply(status=500)]) as stub,
        use_meter(Meter(budget=BudgetSettings(calls=2))),
        pytest.raises(BudgetExceededError),
    ):
        await at(stub, retries=9).text(ASK)
    assert len(stub.requests) == 2


async def test_cancellation_is_prompt_and_is_no_failure() -> None:
    with serve([Reply(delay=2.0)]) as stub, use_meter(Meter()) as meter:
        call = asyncio.create_task(at(stub).text(ASK))
        async with asyncio.timeout(30):
            while not stub.requests:
                await asyncio.sleep(0.01)
        call.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert time.monotonic() - began < 1.5
    assert len(stub.requests) == 1
    assert meter.used == Usage(llm_calls=1)


async def test_cancellation_ends_the_wait_for_a_retry() -> None:
    with serve([Reply(status=503, headers={"retry-after": "60"})]) as stub:
        call = asyncio.create_task(at(stub).text(ASK))
        await asyncio.sleep(0.5)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


@pytest.mark.parametrize("key", [KEY, "gsk_abcdef12", f"AIzaSy{'B' * 33}"])
def test_what_looks_like_a_key_is_not_shown(key: str) -> None:
    assert scrub(f"API key {key} is not valid; skip-this hfx") == (
        "API key *** is not valid; skip-this hfx"
    )


def test_failures_of_any_provider_are_told_apart() -> None:
    class StatusError(Exception):
        def __init__(self, status_code: int) -> None:
            self.status_code = status_code

    wrapped = ValueError("outer")
    wrapped.__cause__ = StatusError(503)
    api_connection = type("APIConnectionError", (Exception,), {})
    assert is_transient(wrapped)
    assert is_transient(type("Sub", (api_connection,), {})("x"))
    assert is_transient(TimeoutError())
    assert is_transient(RuntimeError("Event loop is closed"))
    assert not is_transient(StatusError(400))
    assert not is_transient(ValueError("x"))
    assert "TimeoutError" in str(translate(TimeoutError(), "m"))


# -- event loops


@pytest.mark.parametrize("of_the_caller", [True, False])
def test_one_llm_serves_several_loops_one_after_the_other(of_the_caller: bool) -> None:
    with serve([Reply("Fine.")]) as stub:
        key = SecretStr("x")
        own = ChatOpenAI(model="m", base_url=stub.url, api_key=key, max_retries=0)
        llm = LLM(own, backoff=0) if of_the_caller else at(stub, retries=0)

        async def two() -> list[str]:
            return list(await asyncio.gather(llm.text(ASK), llm.for_role("judge").text(ASK)))

        for _ in range(3):
            assert asyncio.run(two()) == ["Fine.", "Fine."]


# -- objects


async def test_the_server_is_told_the_schema() -> None:
    inner = '{"number": 4, "note": "}\\u0000{"}'
    reply = 'Sure:\n```json\n{\n  "citations": [ 1, 2 ],\n "inner": ' + inner + "}\n```"
    with serve([Reply(reply)]) as stub, use_meter(Meter()) as meter:
        found = await at(stub).parse(ASK, Cited, max_tokens=44)
    assert found == Cited(citations=[1, 2], inner=Inner(number=4, note="}{"))
    assert meter.notes == []
    [request] = stub.requests
    assert request["max_completion_tokens"] == 44
    form = request["response_format"]
    assert form["type"] == "json_schema"
    assert (form["json_schema"]["name"], form["json_schema"]["strict"]) == ("Cited", True)
    schema = form["json_schema"]["schema"]
    assert schema["required"] == ["citations", "inner"]
    assert schema["properties"]["inner"]["required"] == ["number", "note"]
    assert "default" not in json.dumps(schema)
    assert json.dumps(schema).count('"additionalProperties": false') == 2


async def test_an_invalid_reply_is_asked_for_once_more() -> None:
    script = [Reply('{"citations": ["x"]}'), Reply('{"citations": [2]}')]
    with serve(script) as stub:
        assert (await at(stub).parse(ASK, Cited)).citations == [2]
    first, second = (request["messages"][-1]["content"] for request in stub.requests)
    assert second.startswith(first)
    assert "citations.0: Input should be a valid integer" in second


async def test_two_invalid_replies_are_an_error() -> None:
    script = [Reply("I would rather not. " * 50)]
    with serve(script) as stub, pytest.raises(ModelReplyError) as caught:
        await at(stub, role="judge").parse(ASK, Cited)
    message = str(caught.value)
    assert f"m at {stub.url} gave no usable Cited to judge" in message
    assert "no complete JSON object; it said 'I would rather not." in message
    assert len(message) < 400
    assert len(stub.requests) == 2


@pytest.mark.parametrize(
    "error",
    [
        "response_format json_schema is not supported",
        "response_format 'Cited': In context=('citations',), 'maxItems' is not permitted",
    ],
)
async def test_a_server_without_schemas_is_told_in_words(error: str) -> None:
    def answer(request: dict[str, Any]) -> Reply:
        if "response_format" in request:
            return Reply(status=400, error=error)
        return Reply('{"citations": [3]}')

    with serve(answer) as stub:
        llm = at(stub)
        with use_meter(Meter()) as meter:
            assert (await llm.parse(ASK, Cited)).citations == [3]
            assert (await llm.for_role("judge").parse(ASK, Cited)).citations == [3]
        with use_meter(Meter()) as later:
            assert await llm.text(replace(ASK, schema=SCHEMA)) == '{"citations": [3]}'
        with use_meter(Meter()) as plain:
            await llm.text(ASK)
    assert ["response_format" in request for request in stub.requests] == [True] + [False] * 4
    assert '"citations"' in stub.requests[1]["messages"][-1]["content"]
    told = f"m at {stub.url} supports no schema; the prompt describes the format instead."
    assert (meter.notes, later.notes, plain.notes) == ([told], [told], [])


async def test_a_prompt_that_is_too_long_is_not_taken_for_a_missing_schema() -> None:
    error = "maximum context length is 9 tokens (8 in the messages, 1 in the functions)"
    script = [Reply(status=400, error=error)]
    with serve(script) as stub, pytest.raises(ModelError, match="Use fewer passages"):
        await at(stub).parse(ASK, Cited)
    assert len(stub.requests) == 1


class Plain(BaseChatModel):
    """A provider's model without usage, probabilities, streaming or tools."""

    replies: list[Any]

    @property
    def _llm_type(self) -> str:
        return "plain"

    def _generate(self, messages: Any, *_: Any, **kwargs: Any) -> ChatResult:
        if "logprobs" in kwargs:
            raise TypeError("create() got an unexpected keyword argument 'logprobs'")
        reply = self.replies.pop(0)
        message = reply if isinstance(reply, BaseMessage) else AIMessage(reply)
        return ChatResult(generations=[ChatGeneration(message=message)])


class WithTools(Plain):
    """One that calls tools."""

    max_output_tokens: int = 0
    seen: list[Any] = []  # noqa: RUF012

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        self.seen.append((tools[0].__name__, self.max_output_tokens))
        return self


async def test_a_model_with_tools_calls_one() -> None:
    call = {"name": "Cited", "args": {"citations": [5]}, "id": "1"}
    model = WithTools(replies=[AIMessage("", tool_calls=[call])])
    assert (await LLM(model).parse(ASK, Cited, max_tokens=21)).citations == [5]
    assert model.seen == [("Cited", 21)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"citations": [1]} and {"citations": [2]}', [1]),
        ('{not json} then {"citations": [2]}', [2]),
        ('a "quote { here {"citations": [3]}', None),
        ('{"inner": {"citations": [4]}, ', None),
        ('{"citations": [5], "inner": {"note": "line\nbreak \\" {"}}', [5]),
        ('{"citations": [6], "inner": {"note": "\\ud800"}}', [6]),
    ],
)
async def test_the_first_whole_object_counts(text: str, expected: list[int] | None) -> None:
    llm = LLM(Plain(replies=[text, text]))
    if expected is None:
        with pytest.raises(ModelReplyError):
            await llm.parse(ASK, Cited)
    else:
        found = await llm.parse(ASK, Cited)
        assert found.citations == expected
        found.model_dump_json().encode()


# -- choices


@pytest.mark.parametrize(
    ("top", "yes"),
    [({" yes": 0.5, "YES": 0.1, "No": 0.2, "Maybe": 0.2}, 0.75), ({"no": 0.9, "nope": 0.05}, 0)],
)
async def test_probabilities_of_the_first_token(top: dict[str, float], yes: float) -> None:
    logs = {token: math.log(chance) for token, chance in top.items()}
    with serve([Reply("Yes", top=logs)]) as stub, use_meter(Meter()) as meter:
        found = await at(stub).choose(ASK, YES_NO)
    assert found == {"Yes": pytest.approx(yes), "No": pytest.approx(1 - yes)}
    assert meter.notes == []
    [request] = stub.requests
    assert (request["logprobs"], request["top_logprobs"]) == (True, 20)
    assert request["max_completion_tokens"] == 1


@pytest.mark.parametrize("top", [None, {"Well": -0.1}, {"Well": -0.1, "Yes": -4.0}])
async def test_without_probabilities_the_text_counts(top: dict[str, float] | None) -> None:
    with serve([Reply(" **no", top=top)]) as stub, use_meter(Meter()) as meter:
        llm = at(stub)
        assert await llm.choose(ASK, YES_NO) == {"Yes": 0.0, "No": 1.0}
        assert await llm.choose(ASK, YES_NO) == {"Yes": 0.0, "No": 1.0}
    assert len(meter.notes) == 1
    assert "gave no probabilities" in meter.notes[0]


@pytest.mark.parametrize("top", [None, {"Nothing": -1e-6, "Yes": -14.0, "No": -17.0}])
async def test_a_reply_that_is_no_option(top: dict[str, float] | None) -> None:
    told = "chose none of Yes, No for judge: it said 'Noth"
    with (
        use_meter(Meter()) as meter,
        serve([Reply("Nothing", top=top)]) as stub,
        pytest.raises(ModelReplyError, match=told),
    ):
        await at(stub, role="judge").choose(ASK, YES_NO)
    assert meter.notes == []


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, "logprobs are not supported by this model"),
        (403, "You are not allowed to request logprobs from this model"),
    ],
)
async def test_a_provider_that_refuses_probabilities_is_asked_without(
    status: int, error: str
) -> None:
    def answer(request: dict[str, Any]) -> Reply:
        if "logprobs" in request:
            return Reply(status=status, error=error)
        return Reply("Yes.")

    with serve(answer) as stub:
        llm = at(stub)
        for _ in range(2):
            assert await llm.choose(ASK, YES_NO) == {"Yes": 1.0, "No": 0.0}
    assert ["logprobs" in request for request in stub.requests] == [True, False, False]
    assert await LLM(Plain(replies=["no"])).choose(ASK, YES_NO) == {"Yes": 0.0, "No": 1.0}


@pytest.mark.parametrize("options", [(), ("Yes",), ("Yes", "yes "), ("", "No")])
async def test_options_must_be_distinct(options: tuple[str, ...]) -> None:
    with pytest.raises(InputError):
        await LLM(ScriptedChatModel(["Yes"])).choose(ASK, options)


# -- events, roles, opening


async def test_calls_are_told_as_events() -> None:
    llm = LLM(ScriptedChatModel(["Hello there.", Choice(Yes=0.9, No=0.1)]), role="judge")

    async def node(state: Asked) -> Asked:
        said = await llm.text(ASK)
        await llm.choose(ASK, YES_NO)
        return {"said": said}

    graph = chain(Asked, node=node).compile()
    first, second = [event async for event in graph.astream({"said": ""}, stream_mode="custom")]
    prompt = "System line.\n\nQuestion and passages.\n\nThe task."
    usage = Usage(llm_calls=1, prompt_tokens=7, completion_tokens=2)
    told = LLMCalled(role="judge", model=llm.name, prompt=prompt, reply="Hello there.", usage=usage)
    assert first == told
    assert (second.reply, second.usage.cached_tokens) == ("Yes", 7)


async def test_a_role_has_its_own_model_or_shares() -> None:
    with serve([Reply("base")]) as base, serve([Reply("apart")]) as apart:
        settings = LLMSettings(model="m", base_url=base.url)
        own = LLMSettings(model="m", base_url=apart.url)
        llm = open_llm(settings, ModelSettings(), roles={"judge": own})
        judge = llm.for_role("judge")
        assert [await llm.text(ASK), await judge.text(ASK)] == ["base", "apart"]
        back = judge.for_role("claim_generator")
        assert await back.text(ASK) == "base"
        assert (llm.role, judge.role, back.role) == ("default", "judge", "claim_generator")
        assert repr(judge) == f"LLM('m at {apart.url}', role='judge')"
        assert open_llm(settings, ModelSettings(), role="judge", roles={"judge": own}).name == (
            judge.name
        )
        llm.close()


async def test_the_rate_is_kept_across_roles_and_is_not_part_of_the_timeout() -> None:
    with serve([Reply()]) as stub:
        settings = LLMSettings(
            model="m", base_url=stub.url, requests_per_second=4, timeout=0.6, retries=0
        )
        warmer = settings.model_copy(update={"temperature": 1.0})
        llm = open_llm(settings, ModelSettings(), roles={"judge": warmer})
        await asyncio.gather(*(llm.for_role(r).text(ASK) for r in ("judge", "a", "judge", "b")))
    assert stub.times[-1] - stub.times[0] >= 0.6


@pytest.mark.parametrize(
    ("llm", "kind", "told"),
    [
        *(
            ({"model": name}, SettingsError, "provider:model, such as openai:gpt-4o")
            for name in ("", "gpt-4o", "openai:", ":x", "nobody:x", "opnai:gpt-4o")
        ),
        ({"model": "cohere:command"}, MissingExtraError, "pip install langchain-cohere"),
        ({"model": "openai:x"}, SettingsError, "openai:x is missing.*Set OPENAI_API_KEY"),
        ({"base_url": "http://127.0.0.1:1/v1"}, SettingsError, "llm.base_url is set"),
    ],
)
def test_settings_that_open_no_model_are_told(
    llm: dict[str, Any], kind: type[Exception], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(kind, match=told):
        open_llm(LLMSettings(**llm), ModelSettings())


@pytest.mark.parametrize("proxy", ["nonsense://x", "http://h:port", "socks5://127.0.0.1:9"])
@pytest.mark.parametrize(
    "llm", [{"model": "openai:m"}, {"model": "m", "base_url": "http://192.0.2.1/v1"}]
)
def test_a_proxy_that_cannot_be_used_is_named(
    llm: dict[str, Any], proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)  # as where it is not installed
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(SettingsError, match="proxy settings cannot be used.*Correct HTTPS_PROXY"):
        open_llm(LLMSettings(**llm), ModelSettings())
    here = LLMSettings(model="m", base_url="http://127.0.0.1:9/v1")
    assert open_llm(here, ModelSettings()).name == "m at http://127.0.0.1:9/v1"


def test_a_proxy_is_used_without_a_word() -> None:
    code = """
from citeproof.settings import LLMSettings, ModelSettings
from citeproof.tools.llm.opening import open_llm

for llm in ({"base_url": "http://127.0.0.1:9/v1"}, {"base_url": "http://192.0.2.1/v1"}, {}):
    open_llm(LLMSettings(model="openai:m", **llm), ModelSettings())
"""
    environment = os.environ | {"HTTPS_PROXY": "http://192.0.2.1:9", "OPENAI_API_KEY": KEY}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")


async def test_a_provider_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve([Reply("Fine.")]) as stub:
        monkeypatch.setenv("OPENAI_BASE_URL", stub.url)
        monkeypatch.setenv("OPENAI_API_KEY", "env-key")
        settings = LLMSettings(model="openai:gpt-x", seed=3, temperature=None, timeout=5)
        llm = open_llm(settings, ModelSettings())
        assert await llm.text(ASK) == "Fine."
        assert await llm.text(ASK, on_delta=ignore) == "Fine."
    assert (stub.requests[0]["model"], stub.requests[0]["seed"]) == ("gpt-x", 3)
    assert "temperature" not in stub.requests[0]
    assert stub.keys == ["Bearer env-key"] * 2


async def test_an_address_is_shown_without_its_password() -> None:
    settings = LLMSettings(model="m", base_url="http://me:pass@127.0.0.1:9/v1?k=v")
    assert open_llm(settings, ModelSettings()).name == "m at http://127.0.0.1:9/v1"


async def test_the_embedded_server_is_reached_and_started_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from citeproof.tools.llm import chat_models

    with serve([Reply("Fine.")]) as stub:

        class Server:
            base_url, api_key, starts, stops = stub.url, "its-own-key", 0, 0

            def start(self) -> None:
                self.starts += 1

            def close(self) -> None:
                self.stops += 1

        fake = Server()
        monkeypatch.setattr(chat_models, "local_server", lambda *args, **kwargs: fake)
        llm = open_llm(LLMSettings(), ModelSettings())
        assert fake.starts == 0, "a question that is answered by a quote needs no model"
        assert await llm.text(ASK) == "Fine."
        assert await llm.for_role("judge").text(ASK) == "Fine."
        assert fake.starts == 2
        llm.start()
        llm.close()
    assert llm.name == "the embedded model"
    assert stub.keys == ["Bearer its-own-key"] * 2
    assert [request["model"] for request in stub.requests] == ["local", "local"]
    assert [request["id_slot"] for request in stub.requests] == [0, 1]
    assert fake.starts == 4
    assert fake.stops > 0


async def test_a_reply_that_is_begun_is_gone_on_with_and_further_fields_are_sent() -> None:
    """A server that is known to go on is handed the beginning, which it may repeat."""
    begun = replace(ASK, begun="It is old.")
    table: Any = {"chat_template_kwargs": {"enable_thinking": False}}
    with serve([Reply("It is old. It is high."), Reply(CITED)]) as stub:
        settings = LLMSettings(model="m", base_url=stub.url, continues=True, extra_body=table)
        llm = open_llm(settings, ModelSettings())
        assert await llm.text(begun) == " It is high."
        await llm.parse(ASK, Cited)
    for request in stub.requests:
        assert request["chat_template_kwargs"] == {"enable_thinking": False}
    first = stub.requests[0]
    assert first["messages"][-1] == {"role": "assistant", "content": "It is old."}
    assert (first["continue_final_message"], first["add_generation_prompt"]) == (True, False)


async def test_a_provider_without_further_fields_refuses_them() -> None:
    own = Plain(replies=[])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("langchain.chat_models.init_chat_model", lambda *_, **__: own)
        with pytest.raises(SettingsError, match="takes no further fields"):
            open_llm(LLMSettings(model="own:m", extra_body='{"a": 1}'), ModelSettings())


@pytest.mark.parametrize(
    "reply",
    [
        "<think>\nWho? [1] says.\n</think>\n\nAnn Lee built it.",
        "Who? [1] says.</think>\nAnn Lee built it.",  # a template may open the thoughts
    ],
)
async def test_thoughts_are_no_part_of_a_reply(reply: str) -> None:
    model = ScriptedChatModel([reply, f'<think>{{"citations": [9]}}?</think>{CITED}'])
    assert await LLM(model).text(ASK) == "Ann Lee built it."
    assert (await LLM(model).parse(ASK, Cited)).citations == [2]


THINKS = {"<think>": -1e-6, "Yes": -14.0, "No": -17.0}


@pytest.mark.parametrize(
    "reply", [Reply(s, finish="length", top=THINKS) for s in ("<think>\nThe", "")]
)
async def test_a_reply_that_is_cut_in_its_thoughts_says_so(reply: Reply) -> None:
    """Else it would pass for an answer that is finished."""
    with serve([reply]) as stub:
        llm = at(stub)
        for asked in (llm.text(ASK), llm.text(ASK, on_delta=ignore), llm.choose(ASK, YES_NO)):
            with pytest.raises(ModelError, match=r"thinks before it replies.*llm\.extra_body"):
                await asked


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ({"stopReason": "guardrail_intervened"}, "content filter"),
        ({"finish_reason": "PROHIBITED_CONTENT"}, "content filter"),
        ({"stopReason": "max_tokens"}, "thinks before it replies"),
        ({"done_reason": "length"}, "thinks before it replies"),
    ],
)
async def test_the_end_of_a_reply_is_read_in_the_words_of_any_provider(
    end: dict[str, str], told: str
) -> None:
    with pytest.raises(ModelError, match=told):
        await LLM(Plain(replies=[AIMessage("", response_metadata=end)])).text(ASK)


LONG = "Ann Lee built the tower of stone from the quarry"


@streamed_or_not
@pytest.mark.parametrize(
    ("said", "reply"),
    [
        (f"{LONG}. It was lit by Dr. Bo Ra", f"{LONG}."),
        (f"{LONG}, and it was painted white by the kee", f"{LONG}."),
        (f"{LONG} and painted white by the keeper of the li", None),
        (f"{LONG}, and it was painted white.", None),
    ],
)
async def test_a_reply_that_is_cut_ends_with_a_whole_sentence_or_clause(
    said: str, reply: str | None, on_delta: OnDelta
) -> None:
    with serve([Reply(said, finish="length")]) as stub:
        told = await at(stub).text(ASK, on_delta=on_delta)
    assert told == (reply or said)


async def test_any_other_model_is_asked_in_words_to_go_on() -> None:
    begun = replace(ASK, begun="It is old.")
    with serve([Reply("It is high.")]) as stub:
        assert await at(stub).text(begun) == "It is high."
    [message] = [m for m in stub.requests[0]["messages"] if m["role"] == "user"]
    assert "It is old." in message["content"]
    assert "write only DONE" in message["content"]
    assert "continue_final_message" not in stub.requests[0]


@streamed_or_not
async def test_a_reply_is_held_to_the_schema_of_its_prompt(on_delta: OnDelta) -> None:
    with serve([Reply('{"n": 2', finish="length")]) as stub:
        reply = await at(stub).text(replace(ASK, schema=SCHEMA), on_delta=on_delta)
    assert reply == '{"n": 2', "a reply that is cut off is not thrown away"
    form = stub.requests[0]["response_format"]
    assert (form["type"], form["json_schema"]["schema"]) == ("json_schema", SCHEMA)


@streamed_or_not
async def test_a_model_that_refuses_stop_texts_is_cut_here(on_delta: OnDelta) -> None:
    def answer(request: dict[str, Any]) -> Reply:
        if "stop" in request:
            return Reply(status=400, error="Unsupported parameter: 'stop' is not supported")
        return Reply("Old, and high\n\nQuestion: Who?", finish="length")

    with serve(answer) as stub:
        llm = at(stub)
        for prompt in (ASK, replace(ASK, schema=SCHEMA)):
            assert await llm.text(prompt, stop=["\n\n"], on_delta=on_delta) == "Old, and high"
    assert ["stop" in request for request in stub.requests] == [True, False, False]
    assert "response_format" in stub.requests[-1], "the schema is not given up with it"


async def test_only_the_embedded_model_is_asked_for_json_unless_told() -> None:
    def asked(**settings: Any) -> bool:
        return LLMSettings(**settings).answers_in_json

    assert asked()
    assert not asked(model="m", base_url="http://127.0.0.1:1/v1")
    assert asked(model="m", base_url="http://127.0.0.1:1/v1", answers="json")
    assert not asked(answers="marks")
    llm = LLM(ScriptedChatModel([]), answers_in_json=True)
    assert llm.for_role("answerer").answers_in_json
    assert not llm.in_form("marks").answers_in_json


# Replies without text


@pytest.mark.parametrize(
    ("said", "noted"),
    [
        (AIMessage(" \n"), ["FakeMessagesListChatModel gave writer no text."]),
        (
            AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "1"}]),
            ["FakeMessagesListChatModel gave writer no text but a call of a tool."],
        ),
        (AIMessage("Ann."), []),
    ],
)
async def test_a_reply_without_text_is_noted(said: AIMessage, noted: list[str]) -> None:
    """Otherwise an answer would blame the passages."""
    llm = LLM(FakeMessagesListChatModel(responses=[said]), role="writer")
    with use_meter(Meter()) as meter:
        await llm.text(ASK, on_delta=ignore)
    assert meter.notes == noted


async def test_a_reply_that_is_begun_may_have_nothing_to_add() -> None:
    llm = LLM(FakeMessagesListChatModel(responses=[AIMessage("")]))
    with use_meter(Meter()) as meter:
        begun = replace(ASK, begun="Ann built it.")
        assert await llm.text(begun, on_delta=ignore) == ""
        assert await llm.text(ASK, stop=["\n"], on_delta=ignore) == ""
    assert meter.notes == []


@pytest.mark.parametrize("way", ["bind", "with_retry", "with_config"])
def test_a_model_with_something_around_it_is_refused(way: str) -> None:
    around = getattr(ScriptedChatModel([]), way)()
    with pytest.raises(SettingsError, match="Give the chat model itself, without bind"):
        coerce_llm(around)
