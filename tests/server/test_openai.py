"""`/v1` with OpenAI's own client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from citeproof.testing import ScriptedChatModel
from tests.graphs.scripts import BUILT, LIT
from tests.server.serving import ANSWER, QUESTION, client, reply, served, toolbox

ASKED = [{"role": "user", "content": QUESTION}]
TOKEN = "a-token-of-this-test"


def _said(prompt: str) -> str:
    return f"{BUILT} It is painted green." if prompt == "Be short.\n\nTell me." else reply(prompt)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    tools = toolbox(ScriptedChatModel(_said))
    with served(tmp_path_factory.mktemp("store"), tools, token=TOKEN) as found:
        yield found


@pytest.fixture
def ai(url: str) -> Any:
    return openai.OpenAI(base_url=f"{url}/v1", api_key=TOKEN, max_retries=0)


def test_methods_are_models(ai: Any) -> None:
    found = {model.id for model in ai.models.list()}
    assert {"vtg", "calm", "check:scripted"} <= found
    assert ai.models.retrieve("check:scripted").id == "check:scripted"


def test_an_answer_has_its_citations_as_annotations(ai: Any) -> None:
    given = ai.chat.completions.create(model="vtg", messages=ASKED)
    message = given.choices[0].message
    assert message.content == ANSWER
    first, second = message.annotations or []
    assert first.url_citation.title == "Tower"
    span = slice(second.url_citation.start_index, second.url_citation.end_index)
    assert ANSWER[span] == "The tower was lit in 1871 [2]."
    own = second.model_extra["citeproof"]
    assert (own["verdict"], own["sentence"]) == ("supported", LIT)
    assert given.usage.total_tokens > 0
    assert given.choices[0].finish_reason == "stop"


def test_a_streamed_answer_is_the_same(ai: Any) -> None:
    how: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
    *chunks, last = ai.chat.completions.create(model="vtg", messages=ASKED, **how)
    pieces = [chunk.choices[0].delta.to_dict() for chunk in chunks]
    said = [piece["content"] for piece in pieces if piece.get("content")]
    assert "".join(said) == ANSWER
    assert said[0] == "Ann Lee built the tower [1]."
    [places] = [piece["annotations"] for piece in pieces if "annotations" in piece]
    assert [own["url_citation"]["start_index"] for own in places] == [0, 29]
    assert last.usage is not None


@pytest.mark.parametrize("stream", [False, True])
def test_the_answer_of_the_model_itself_is_checked(ai: Any, stream: bool) -> None:
    messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Tell me."}]
    given = ai.chat.completions.create(model="check:scripted", messages=messages, stream=stream)
    if stream:
        [message] = [c.choices[0].delta.to_dict() for c in given if c.choices[0].delta.content]
    else:
        message = given.choices[0].message.to_dict()
    assert message["content"] == f"{BUILT} It is painted green."
    [cited] = message["annotations"]
    assert cited["url_citation"]["end_index"] == len(BUILT)
    assert cited["citeproof"]["verdict"] == "uncited"
    verdicts = [own["verdict"] for own in message["citeproof"]["sentences"]]
    assert verdicts == ["uncited", "unsupported"]


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}],
        [*ASKED, {"role": "assistant", "tool_calls": []}, *ASKED],
    ],
    ids=["in parts", "without content"],
)
def test_messages_of_any_shape_are_read(ai: Any, messages: Any) -> None:
    given = ai.chat.completions.create(model="vtg", messages=messages)
    assert given.choices[0].message.content == ANSWER


@pytest.mark.parametrize(
    ("part", "told"),
    [
        *((part, "each part needs a type") for part in ("hi", 5, {"text": "hi"}, {"type": "text"})),
        ({"type": "image_url", "image_url": {}}, "only text is read; leave out image_url"),
    ],
)
def test_a_part_that_is_not_read_is_refused(ai: Any, part: Any, told: str) -> None:
    content = [{"type": "text", "text": QUESTION}, part]
    with pytest.raises(openai.BadRequestError, match=told):
        ai.chat.completions.create(model="vtg", messages=[{"role": "user", "content": content}])


async def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    message = {"role": "user", "content": [{"type": "\ud800"}]}
    body = json.dumps({"model": "vtg", "messages": [message]})
    kind = {"content-type": "application/json"}
    async with client(tmp_path) as http:
        told = await http.post("/v1/chat/completions", content=body, headers=kind)
    assert told.status_code == 400
    assert "only text is read" in told.json()["error"]["message"]


def test_a_client_may_send_null_for_what_it_leaves_open(ai: Any) -> None:
    given = ai.chat.completions.create(
        model="vtg", messages=ASKED, stream=None, n=None, stream_options=None, max_tokens=None
    )
    assert given.choices[0].message.content == ANSWER


@pytest.mark.parametrize(("wished", "limit"), [(-1, 1024), (0, 1024), (5, 5), (10**9, 1024)])
def test_a_checked_reply_has_a_limit(tmp_path: Path, wished: int, limit: int) -> None:
    model = ScriptedChatModel(reply)
    with served(tmp_path, toolbox(model)) as url:
        ai: Any = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        ai.chat.completions.create(model="check:scripted", messages=ASKED, max_tokens=wished)
    assert model.calls[0].arguments["max_tokens"] == limit


def test_several_answers_are_refused(ai: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="n cannot be used: Input should be 1"):
        ai.chat.completions.create(model="vtg", messages=ASKED, n=2)


def test_errors_are_those_of_openai(ai: Any, url: str) -> None:
    with pytest.raises(openai.NotFoundError, match="There is no model 'gpt-9'"):
        ai.chat.completions.create(model="gpt-9", messages=ASKED)
    with pytest.raises(openai.BadRequestError, match="There is not a question"):
        ai.chat.completions.create(model="vtg", messages=[])
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0).models.list()
    body = httpx.post(
        f"{url}/v1/chat/completions", json={}, headers={"authorization": f"Bearer {TOKEN}"}
    )
    assert set(body.json()["error"]) == {"message", "type", "param", "code"}


def test_a_failing_stream_says_so(tmp_path: Path) -> None:
    with served(tmp_path, toolbox(ScriptedChatModel([ValueError("broken")]))) as url:
        ai: Any = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        stream = ai.chat.completions.create(model="vtg", messages=ASKED, stream=True)
        with pytest.raises(openai.APIError, match="broken"):
            list(stream)
