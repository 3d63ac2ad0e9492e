"""A server of this machine answers its own programs and pages, and no web site's."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import AsyncMock

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response

from citeproof.guard import LocalOnlyGuard

STUDIO = "https://smith.langchain.com"
EVIL = "https://evil.example"


class Echo:
    """Answers with what it was sent; `asked` counts the requests that came through."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
        elif scope["type"] == "http":
            body = await Request(scope, receive).body()
            await Response(body)(scope, receive, send)


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def client(echo: Echo) -> httpx.AsyncClient:
    app = LocalOnlyGuard(echo, allowed_origins=[f"{STUDIO}/"], max_bytes=100)
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:2024")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:2024", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:2024"]
)
async def test_this_machines_own_names_are_let_through(
    client: httpx.AsyncClient, echo: Echo, host: str
) -> None:
    for origin in ({}, {"Origin": f"http://{host.lower()}"}, {"Origin": STUDIO}):
        reply = await client.post(
            "/runs", json={"question": "Who?"}, headers={"Host": host} | origin
        )
        assert (reply.status_code, reply.json()) == (200, {"question": "Who?"})
    assert echo.asked == 3


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:2024", "127.0.0.1.evil.example", "localhost@evil.example"),
        *("localhost:80.evil.example", "[::1].evil.example", "[::1", "192.168.1.7", ""),
    ],
)
async def test_a_foreign_host_is_refused(client: httpx.AsyncClient, echo: Echo, host: str) -> None:
    reply = await client.get("/threads", headers={"Host": host})
    assert (reply.status_code, echo.asked) == (403, 0)


async def test_a_server_may_have_another_name(echo: Echo) -> None:
    guard = LocalOnlyGuard(echo, allowed_hosts=["Nas.local", "[fd00::7]"])
    transport = httpx.ASGITransport(guard)
    for url, status in {
        "http://nas.local:8000/": 200,
        "http://[fd00::7]:8000/": 200,
        "http://localhost:8000/": 403,
    }.items():
        async with httpx.AsyncClient(transport=transport) as client:
            assert (await client.get(url)).status_code == status


@pytest.mark.parametrize(
    "origin",
    [
        *(EVIL, "null", "http://127.0.0.1:3000", "http://localhost:2024"),
        *(f"{STUDIO}.evil.example", "http://smith.langchain.com"),
    ],
)
async def test_a_foreign_page_is_refused(
    client: httpx.AsyncClient, echo: Echo, origin: str
) -> None:
    asked = {"Origin": origin}
    preflight = {
        **asked,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Private-Network": "true",
    }
    replies = [
        await client.get("/threads", headers=asked),
        await client.post("/threads", json={}, headers=asked),
        await client.delete("/threads/1", headers=asked),
        await client.options("/threads", headers=preflight),
    ]
    assert {reply.status_code for reply in replies} == {403}
    assert not any(name.startswith("access-control") for r in replies for name in r.headers)
    assert echo.asked == 0


@pytest.mark.parametrize(
    ("site", "destination", "status"),
    [
        ("cross-site", "image", 403),
        ("same-site", "script", 403),
        ("cross-site", "iframe", 403),
        ("cross-site", "document", 200),
        ("same-origin", "empty", 200),
        ("none", "document", 200),
    ],
)
async def test_what_a_foreign_page_embeds_is_refused_and_a_link_is_not(
    client: httpx.AsyncClient, site: str, destination: str, status: int
) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Dest": destination}
    assert (await client.get("/threads", headers=headers)).status_code == status


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("application/merge-patch+json", 200),
        ("text/plain", 415),
        ("text/plain; application/json", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("", 415),
    ],
)
async def test_a_body_must_be_json(client: httpx.AsyncClient, kind: str, status: int) -> None:
    headers = {"Content-Type": kind} if kind else {}
    reply = await client.post("/runs", content=b'{"a": 1}', headers=headers)
    assert reply.status_code == status


async def test_without_a_body_no_kind_is_asked_for(client: httpx.AsyncClient) -> None:
    assert (await client.post("/runs/1/cancel")).status_code == 200
    assert (await client.delete("/threads/1")).status_code == 200


async def test_a_large_body_is_refused_whether_or_not_it_says_so(
    client: httpx.AsyncClient, echo: Echo
) -> None:
    read = 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(1000):
            read += 1
            yield b" " * 50

    told = await client.post("/runs", json=["x" * 100])
    chunked = await client.post(
        "/runs", content=pieces(), headers={"Content-Type": "application/json"}
    )
    assert (told.status_code, chunked.status_code, echo.asked) == (413, 413, 0)
    assert read == 3
    assert "100 bytes" in chunked.json()["detail"]
    assert (await client.post("/runs", json="x" * 98)).status_code == 200


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ({"host": "127.0.0.1:2024", "origin": "http://127.0.0.1:2024"}, "websocket.accept"),
        ({"host": "127.0.0.1:2024", "origin": STUDIO}, "websocket.accept"),
        ({"host": "127.0.0.1:2024", "origin": EVIL}, "websocket.close"),
        ({"host": "evil.example", "origin": "http://evil.example"}, "websocket.close"),
    ],
)
async def test_web_sockets_are_guarded_as_well(
    echo: Echo, headers: dict[str, str], kind: str
) -> None:
    receive, send = AsyncMock(return_value={"type": "websocket.connect"}), AsyncMock()
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    guard = LocalOnlyGuard(echo, allowed_origins=[STUDIO])
    await guard({"type": "websocket", "headers": pairs}, receive, send)
    assert [call.args[0]["type"] for call in send.await_args_list] == [kind]


async def test_the_servers_own_life_is_passed_on(echo: Echo) -> None:
    nothing: Any = None
    await LocalOnlyGuard(echo)({"type": "lifespan"}, nothing, nothing)
    assert echo.asked == 1


async def test_a_refusal_says_why(client: httpx.AsyncClient) -> None:
    reply = await client.get("/", headers={"Origin": EVIL})
    why = "Pages of https://evil.example may not use this server."
    error = {"message": why, "type": "permission_error"}
    assert json.loads(reply.text) == {"detail": why, "error": error}
