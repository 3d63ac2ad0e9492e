"""Who may use the server: foreign pages, forms, hosts and those without the token may not."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
import uvicorn

from citeproof.server.safety import host_names
from citeproof.testing import ScriptedChatModel
from tests.command import run
from tests.server.serving import QUESTION, client, reply, served, toolbox

ASK = {"question": QUESTION, "stream": False}
TOKEN = "a-token-of-this-test"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"json": ASK, "headers": {"origin": "https://evil.example"}}, 403),
        ({"json": ASK, "headers": {"host": "evil.example"}}, 403),
        ({"json": ASK, "headers": {"sec-fetch-site": "cross-site"}}, 403),
        ({"content": '{"question": "Who?"}', "headers": {"content-type": "text/plain"}}, 415),
        ({"files": {"files": ("a.md", b"x")}}, 415),
        ({"json": {"question": "x" * 1_100_000}}, 413),
    ],
)
async def test_what_a_foreign_page_can_send_runs_nothing(
    tmp_path: Path, request_: dict[str, Any], status: int
) -> None:
    model = ScriptedChatModel(reply)
    async with client(tmp_path, toolbox(model)) as http:
        response = await http.post("/api/ask", **request_)
        assert response.status_code == status
    assert model.calls == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-citeproof": "upload", "origin": "https://evil.example"},
        {"x-citeproof": "upload", "host": "evil.example"},
    ],
)
async def test_a_form_of_a_foreign_page_adds_nothing(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    async with client(tmp_path) as http:
        files = {"files": ("a.md", b"text")}
        response = await http.post("/api/documents", files=files, headers=headers)
        assert response.status_code == 403
    assert not (tmp_path / "documents").exists()


async def test_every_response_has_the_policy(tmp_path: Path) -> None:
    async with client(tmp_path) as http:
        for path in ("/", "/static/serve.js", "/api/methods", "/nothing"):
            headers = (await http.get(path)).headers
            assert "unsafe-inline" not in headers["content-security-policy"]
            assert "default-src 'none'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert "access-control-allow-origin" not in headers


async def test_the_page_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    async with client(tmp_path) as http:
        page = (await http.get("/")).text
    assert "http://" not in page
    assert "https://" not in page
    assert "<style" not in page
    assert " style=" not in page


async def test_a_token_is_needed_by_all_but_health_checks(tmp_path: Path) -> None:
    async with client(tmp_path, token=TOKEN) as http:
        assert (await http.get("/healthz")).status_code == 200
        for path in ("/", "/api/methods", "/v1/models", "/static/serve.js", "/?token=wrong"):
            assert (await http.get(path)).status_code == 401
        bearer = {"authorization": f"Bearer {TOKEN}"}
        assert (await http.get("/v1/models", headers=bearer)).status_code == 200
        wrong = {"authorization": "Bearer another-token-of-this"}
        assert (await http.get("/v1/models", headers=wrong)).status_code == 401
        entered = await http.get(f"/?token={TOKEN}")
        assert entered.status_code == 303
        assert {"HttpOnly", "SameSite=strict"} < set(entered.headers["set-cookie"].split("; "))
        assert (await http.get("/")).status_code == 200  # the client keeps the cookie


@pytest.mark.parametrize("path", ["/api/documents", "/api/ask"])
async def test_the_body_of_a_stranger_is_not_read(tmp_path: Path, path: str) -> None:
    async def body() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    form = {"content-type": "multipart/form-data; boundary=x", "x-citeproof": "upload"}
    async with client(tmp_path, token=TOKEN) as http:
        assert (await http.post(path, content=body(), headers=form)).status_code == 401
        foreign = {**form, "host": "evil.example"}
        assert (await http.post(path, content=body(), headers=foreign)).status_code == 403


async def test_a_token_of_base64_may_be_written_as_it_is(tmp_path: Path) -> None:
    token = "q+8/a+Z0m3xYt1kPz7sV=="
    async with client(tmp_path, token=token) as http:
        assert (await http.get(f"/?token={token}")).status_code == 303
        assert (await http.get("/api/methods")).status_code == 200


def test_another_address_needs_a_token(tmp_path: Path) -> None:
    store = ["--store", str(tmp_path / "s")]
    for arguments, words in (
        (["--host", "0.0.0.0"], "it has no token"),
        (["--host", "0.0.0.0", "--token", "short"], "The token is too short"),
        (["--token", "ein-schlüssel-für-alle"], "characters that headers and cookies do not"),
        (["--token", "words with spaces in it"], "characters that headers and cookies do not"),
    ):
        assert words in run(["serve", *arguments, *store], code=2).output
    assert "The token is too short" in run(["serve", *store], env={"SERVE_TOKEN": "short"}).output
    assert not (tmp_path / "s").exists()


def test_an_address_that_is_taken_is_told(tmp_path: Path) -> None:
    with served(tmp_path) as url:
        port = url.rpartition(":")[2]
        result = run(["serve", "--port", port, "--store", str(tmp_path)])
    assert result.exit_code == 2
    assert f"The server cannot listen on 127.0.0.1, port {port}" in result.output


@pytest.mark.parametrize(
    "error", [UnicodeError("label too long"), OSError(errno.EADDRNOTAVAIL, "Cannot assign it")]
)
def test_an_address_that_is_not_of_this_machine_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", Mock(side_effect=error))
    command = ["serve", "--host", "a..b", "--token", TOKEN, "--store", str(tmp_path)]
    told = run(command, code=2).stderr
    assert told.startswith("The server cannot listen on a..b, port 8080: ")
    assert "Choose an address of this machine with --host." in told


def test_in_memory_nothing_is_left_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left: list[list[str]] = []

    def look(*_: object, **__: object) -> None:
        left.append([path.name for path in tmp_path.rglob("threads.sqlite")])

    monkeypatch.setattr(uvicorn.Server, "run", look)
    run(["serve", "--port", "0", "--set", "chroma.in_memory=true"], code=0)
    assert left == [["threads.sqlite"]]
    assert list(tmp_path.iterdir()) == []


def test_an_answer_that_the_end_of_the_server_cuts_off_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def end(*_: object, **__: object) -> None:
        for failure in (asyncio.CancelledError(), ValueError()):
            told = f"failed: {failure!r}"
            logging.getLogger("uvicorn.error").error(told, exc_info=failure)

    monkeypatch.setattr(uvicorn.Server, "run", end)
    run(["serve", "--port", "0", "--store", str(tmp_path)], code=0)
    assert caplog.messages == ["failed: ValueError()"]
    assert logging.getLogger("uvicorn.error").filters == []


def test_conversations_that_cannot_be_kept_are_told(tmp_path: Path) -> None:
    (tmp_path / "threads.sqlite").write_bytes(b"no database" * 1000)
    result = run(["serve", "--port", "0", "--store", str(tmp_path)], code=2)
    assert result.stderr.startswith(f"The run cannot be kept in {tmp_path / 'threads.sqlite'}: ")
    assert result.stdout == ""


def test_names_under_which_a_server_is_reached() -> None:
    assert host_names("127.0.0.1", ["box.local"]) == ["localhost", "127.0.0.1", "::1", "box.local"]
    assert "192.168.1.5" in host_names("192.168.1.5")


async def test_questions_and_keys_are_in_no_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = ScriptedChatModel([RuntimeError("sk-abcdef123456")])
    with caplog.at_level(logging.DEBUG):
        async with client(tmp_path, toolbox(model)) as http:
            response = await http.post("/api/ask", json={**ASK, "question": "My secret matter?"})
            assert not response.is_success
    ours = [
        own.getMessage() for own in caplog.records if own.name.startswith(("citeproof", "uvicorn"))
    ]
    assert "sk-abcdef" not in str(ours) + response.text
    assert "My secret matter" not in str(ours)


def test_a_real_server_answers_its_own_page(tmp_path: Path) -> None:
    with served(tmp_path) as url, httpx.Client(base_url=url) as http:
        response = http.post("/api/ask", json=ASK, headers={"origin": url})
        assert response.status_code == 200
