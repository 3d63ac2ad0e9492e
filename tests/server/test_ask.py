"""`/api/ask`, `/api/check`: events, answers, refusals, and who goes away."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from jsonschema import validate

from citeproof import Toolbox
from citeproof.errors import ModelOutageError
from citeproof.testing import ScriptedChatModel
from tests.server.serving import (
    ANSWER,
    QUESTION,
    HeldEntailment,
    StuckModel,
    client,
    events,
    names,
    reply,
    served,
    toolbox,
)

CHAT = {"messages": [{"role": "user", "content": QUESTION}]}
SCHEMA = json.loads(Path("docs/events.schema.json").read_text("utf-8"))


async def test_a_question_streams_the_published_events(tmp_path: Path) -> None:
    async with client(tmp_path) as http:
        response = await http.post("/api/ask", json={"question": QUESTION})
    assert response.headers["content-type"].startswith("text/event-stream")
    told = events(response.text)
    ours = [(name, data) for name, data in told if name not in ("run", "waiting", "started")]
    for name, data in ours:
        validate(data, SCHEMA)
        assert data["type"] == name
    assert names(ours).count("claim_accepted") == 2
    assert told[0][0] == "run"
    assert told[-1] == ("answer_ready", told[-1][1])
    assert told[-1][1]["answer"]["text"] == ANSWER


async def test_without_a_stream_the_answer_comes_as_json(tmp_path: Path) -> None:
    async with client(tmp_path) as http:
        body = {"question": QUESTION, "stream": False, "parameters": {"max_claims": 1}}
        response = await http.post("/api/ask", json=body)
    assert response.json()["text"] == "Ann Lee built the tower [1]."


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"question": " "}, "There is not a question"),
        ({}, "There is not a question"),
        ({"question": "x" * 4001}, "too long"),
        ({"question": "Who?", "method": "magic"}, "There is no method 'magic'"),
        ({"question": "Who?", "parameters": {"kk": 3}}, "Unknown parameter kk"),
        ({"question": "Who?", "parameters": {"k": 0}}, "The parameter k cannot be 0"),
        (
            {"question": "Who?", "parameters": {"review": True}, "stream": False},
            "Nobody can be asked about a claim",
        ),
        (
            {"question": "Who?", "parameters": {"prompts": {"zz": "Hi."}}, "stream": False},
            "zz",
        ),
        ({"question": "Who?", "conversation": "a\nb"}, "conversation cannot be used"),
        ({"question": "Who?", "path": "/etc"}, "path cannot be used"),
    ],
)
async def test_what_cannot_be_asked_is_refused_before_it_costs(
    tmp_path: Path, body: dict[str, Any], words: str
) -> None:
    model = ScriptedChatModel(reply)
    async with client(tmp_path, toolbox(model)) as http:
        response = await http.post("/api/ask", json=body)
    assert response.status_code == 400
    assert words in response.json()["error"]["message"]
    assert model.calls == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (rb'{"question": "Who \ud83d?"}', "question cannot be used"),
        (rb'{"messages": [{"role": "user", "content": "\ud83d"}]}', "messages.0.content cannot be"),
        (rb'{"messages": [{"role": "\ud83d", "content": "x"}]}', "messages.0.role cannot be used"),
        (b'{"question": ', "The body cannot be used: JSON decode error"),
    ],
)
async def test_a_body_that_is_not_text_is_refused(tmp_path: Path, body: bytes, words: str) -> None:
    kind = {"content-type": "application/json"}
    async with client(tmp_path) as http:
        response = await http.post("/api/ask", content=body, headers=kind)
    assert response.status_code == 400
    assert words in response.json()["error"]["message"]


async def test_the_description_has_the_version(tmp_path: Path) -> None:
    async with client(tmp_path) as http:
        told = (await http.get("/openapi.json")).json()
    assert told["info"] == {"title": "citeproof", "version": version("citeproof")}


def test_a_question_waits_until_the_models_are_there(tmp_path: Path) -> None:
    loading, loaded = threading.Event(), threading.Event()

    def load(progress: Any) -> Toolbox:
        progress("language model", 30, 100)
        loading.set()
        assert loaded.wait(60)
        return toolbox()

    with served(tmp_path, load) as url, httpx.Client(base_url=url, timeout=60) as http:
        assert http.get("/").status_code == http.get("/healthz").status_code == 200
        assert loading.wait(60)
        state = http.get("/readyz")
        assert state.status_code == 503
        told = [{"what": "language model", "done": 30, "total": 100}]
        assert state.json() == {"ready": False, "loading": told}
        body = ""
        with http.stream("POST", "/api/ask", json={"question": QUESTION}) as response:
            for text in response.iter_text():
                body += text
                if "event: waiting" in body:
                    loaded.set()
        assert names(events(body))[:3] == ["run", "waiting", "started"]
        assert events(body)[-1][1]["answer"]["text"] == ANSWER
        assert http.get("/readyz").status_code == 200


async def test_models_that_cannot_be_had_are_told_without_keys(tmp_path: Path) -> None:
    failing = Mock(side_effect=ModelOutageError("No answer with sk-abcdef123456"))
    async with client(tmp_path, failing) as http:
        body = {"question": QUESTION, "stream": False}
        response = await http.post("/api/ask", json=body)
        assert response.status_code == 503
        assert response.json()["error"]["message"] == "No answer with ***."
        state = await http.get("/readyz")
        assert state.status_code == 503
        assert state.json() == {"ready": False, "error": "No answer with ***."}


async def test_an_error_in_the_run_ends_the_stream(tmp_path: Path) -> None:
    model = ScriptedChatModel([ValueError("key sk-abcdef123456 is bad")])
    async with client(tmp_path, toolbox(model)) as http:
        told = events((await http.post("/api/ask", json={"question": QUESTION})).text)
    assert told[-1][0] == "error"
    assert "sk-abcdef" not in str(told)


@pytest.mark.parametrize("stream", [True, False])
def test_a_run_ends_when_its_client_goes_away(tmp_path: Path, stream: bool) -> None:
    model = StuckModel(reply)
    body = json.dumps({"question": QUESTION, "stream": stream})
    with served(tmp_path, toolbox(model)) as url:
        host, port = url.removeprefix("http://").split(":")
        head = f"POST /api/ask HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        with socket.create_connection((host, int(port))) as own:
            own.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
            assert model.stuck.wait(60)
            assert not model.given_up.is_set()
        assert model.given_up.wait(60)


async def test_a_check_uses_the_index(tmp_path: Path) -> None:
    async with client(tmp_path) as http:
        text = "Ann Lee built the tower [1]. The tower is green."
        report = (await http.post("/api/check", json={"text": text})).json()
    assert [one["verdict"] for one in report["sentences"]] == ["uncited", "unsupported"]
    # A number of somebody else's list cites nothing in the index.
    assert [one["invalid"] for one in report["sentences"]] == [[], []]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/ask", {"question": QUESTION, "stream": False}),
        ("/api/ask", {"question": QUESTION, "stream": True}),
        ("/v1/chat/completions", {**CHAT, "model": "vtg", "stream": True}),
        ("/v1/chat/completions", {**CHAT, "model": "check:scripted", "stream": True}),
    ],
)
async def test_more_questions_than_may_wait_get_429(
    tmp_path: Path, path: str, body: dict[str, Any]
) -> None:
    held = HeldEntailment({})
    async with client(tmp_path, toolbox(entailment=held), at_once=2, waiting=3) as http:
        asked = [asyncio.create_task(http.post(path, json=body)) for _ in range(12)]
        first = [await one for _, one in zip(range(7), asyncio.as_completed(asked), strict=False)]
        held.released.set()
        codes = [response.status_code for response in await asyncio.gather(*asked)]
    assert {(own.status_code, own.headers["retry-after"]) for own in first} == {(429, "5")}
    assert sorted(codes) == [200] * 5 + [429] * 7
