"""Conversations: kept, listed, followed up, shown again, forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import quote

import httpx
import pytest

from citeproof.console.runs import LocalRuns
from citeproof.console.threads import Checkpoints, Opened, Thread
from citeproof.graphs.registry import find_method
from citeproof.server.runs import Run
from citeproof.testing import ScriptedChatModel
from tests.console import sample
from tests.server.serving import ANSWER, QUESTION, HeldEntailment, client, served, toolbox


async def test_a_conversation_outlives_the_server(tmp_path: Path) -> None:
    body = {"question": QUESTION, "conversation": "light", "stream": False}
    async with client(tmp_path) as http:
        for asked in (QUESTION, "And when was it lit?"):
            assert (await http.post("/api/ask", json={**body, "question": asked})).is_success
    async with client(tmp_path) as http:
        [listed] = (await http.get("/api/conversations")).json()["conversations"]
        assert (listed["id"], listed["title"]) == ("light", QUESTION)
        turns = (await http.get("/api/conversations/light")).json()["turns"]
        assert [turn["asked"] for turn in turns] == [QUESTION, "And when was it lit?"]
        assert turns[0]["answer"]["text"] == ANSWER
        page = await http.get(f"/runs/{turns[0]['run']}")
        assert "Ann Lee built the tower." in page.text
        assert (await http.delete("/api/conversations/light")).status_code == 200
        assert (await http.get(f"/runs/{turns[0]['run']}")).status_code == 404
        assert (await http.get("/api/conversations/light")).status_code == 404
        assert (await http.delete("/api/conversations/light")).status_code == 404


async def test_of_a_long_conversation_the_latest_answers_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("runs", "page_routes"):
        monkeypatch.setattr(f"citeproof.server.{place}.MOST", 1)
    body = {"conversation": "long", "stream": False, "method": "closedbook"}
    async with client(tmp_path) as http:
        for asked in (QUESTION, "And when was it lit?"):
            assert (await http.post("/api/ask", json={**body, "question": asked})).is_success
        [turn] = (await http.get("/api/conversations/long")).json()["turns"]
        assert turn["asked"] == "And when was it lit?"
        assert (await http.get(f"/runs/{turn['run']}")).is_success


async def test_a_conversation_goes_on_with_another_method(tmp_path: Path) -> None:
    body = {"question": QUESTION, "conversation": "two", "stream": False}
    async with client(tmp_path) as http:
        for method in ("vtg", "closedbook"):
            assert (await http.post("/api/ask", json={**body, "method": method})).is_success
        turns = (await http.get("/api/conversations/two")).json()["turns"]
    assert [turn["answer"]["method"] for turn in turns] == ["vtg", "closedbook"]


@pytest.mark.parametrize("stream", [True, False])
async def test_one_question_of_a_conversation_at_a_time(tmp_path: Path, stream: bool) -> None:
    held = HeldEntailment(lambda premise, claim: 0.9)
    body = {"question": QUESTION, "conversation": "c", "stream": stream}
    async with client(tmp_path, toolbox(entailment=held)) as http:
        both = [asyncio.create_task(http.post("/api/ask", json=body)) for _ in range(2)]
        [refused], [answered] = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        held.released.set()
        codes = [(await one).status_code for one in (refused, answered)]
    assert codes == [409, 200]


async def test_a_conversation_that_is_being_answered_is_not_changed(tmp_path: Path) -> None:
    held = HeldEntailment(lambda premise, claim: 0.9)
    body = {"question": QUESTION, "conversation": "c", "stream": False}
    async with client(tmp_path, toolbox(entailment=held)) as http:
        asked = asyncio.create_task(http.post("/api/ask", json=body))
        while not (await http.get("/api/conversations")).json()["conversations"]:
            await asyncio.sleep(0.02)
        assert (await http.delete("/api/conversations/c")).status_code == 409
        assert (await http.post("/api/ask", json={**body, "stream": True})).status_code == 409
        held.released.set()
        assert (await asked).is_success
        assert len((await http.get("/api/conversations/c")).json()["turns"]) == 1


async def test_a_client_may_leave_with_the_answer_and_ask_again(tmp_path: Path) -> None:
    questions = [QUESTION, "And when was it lit?", "Who lit it?"]
    with served(tmp_path) as url:
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            for asked in questions:
                body = {"question": asked, "conversation": "c"}
                async with http.stream("POST", "/api/ask", json=body) as response:
                    assert response.status_code == 200
                    async for line in response.aiter_lines():
                        if line == "event: answer_ready":
                            break
                    await response.aclose()
            turns = (await http.get("/api/conversations/c")).json()["turns"]
    assert [turn["asked"] for turn in turns] == questions


async def test_a_deleted_conversation_is_looked_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, queries = Checkpoints.opened, list[str]()

    @asynccontextmanager
    async def noting(checkpoints: Checkpoints) -> AsyncIterator[Opened]:
        async with opened(checkpoints) as kept:

            async def rows(query: str) -> list[tuple[Any, ...]]:
                queries.append(query)
                return await kept.rows(query)

            yield kept._replace(rows=rows)

    monkeypatch.setattr(Checkpoints, "opened", noting)
    body = {"question": QUESTION, "conversation": "c", "stream": False}
    async with client(tmp_path) as http:
        assert (await http.post("/api/ask", json=body)).is_success
        queries.clear()
        assert (await http.delete("/api/conversations/c")).is_success
    assert len(queries) == 1


async def test_a_conversation_without_an_answer_can_be_opened(tmp_path: Path) -> None:
    model = ScriptedChatModel([ValueError("broken")])
    body = {"question": QUESTION, "conversation": "c", "stream": False}
    async with client(tmp_path, toolbox(model)) as http:
        assert not (await http.post("/api/ask", json=body)).is_success
        [listed] = (await http.get("/api/conversations")).json()["conversations"]
        assert listed["title"] == QUESTION
        assert (await http.get("/api/conversations/c")).json() == {"turns": []}


@pytest.mark.parametrize("name", ["my notes", "a/b?c#d%", "über uns", "..."])
async def test_a_conversation_of_the_command_line_goes_on(tmp_path: Path, name: str) -> None:
    async def ask_here(question: str) -> None:
        runs = LocalRuns(partial(find_method("vtg").build, toolbox()))
        async for _ in runs.ask(question, Thread(name, Checkpoints(tmp_path)), Mock()):
            pass

    path = f"/api/conversations/{quote(name, safe='')}"
    questions = [QUESTION, "And when was it lit?", "Who lit it?"]
    async with client(tmp_path) as http:
        await ask_here(questions[0])
        body = {"question": questions[1], "conversation": name, "stream": False}
        assert (await http.post("/api/ask", json=body)).is_success
        await ask_here(questions[2])
        [listed] = (await http.get("/api/conversations")).json()["conversations"]
        assert (listed["id"], listed["title"]) == (name, QUESTION)
        assert listed["at"] > 0
        turns = (await http.get(path)).json()["turns"]
        assert [turn["asked"] for turn in turns] == questions
        assert (await http.delete(path)).is_success
        assert (await http.get("/api/conversations")).json() == {"conversations": []}


def test_a_citation_without_a_sentence_quotes_nothing() -> None:
    sources = Run("r", sample.ANSWER).markdown().splitlines()[-3:]
    listed = sample.ANSWER.model_copy(update={"text": "It has:\n- a lamp [1]\n- a bell [2]"})
    assert "\n\nIt has:\n\n\\- a lamp [1]\n\n\\- a bell [2]\n\n" in Run("r", listed).markdown()
    assert [line.count("“") for line in sources] == [1, 1, 1]


async def test_answers_are_saved_with_their_citations(tmp_path: Path) -> None:
    async with client(tmp_path) as http:
        stream = (await http.post("/api/ask", json={"question": QUESTION})).text
        run = stream.partition('"run": "')[2].partition('"')[0]
        markdown = await http.get(f"/runs/{run}.md")
        assert "1. Tower: “Ann Lee built the tower.”" in markdown.text
        page = await http.get(f"/runs/{run}.html")
        assert "attachment" in page.headers["content-disposition"]
        assert page.text.startswith("<!doctype html>")
        assert (await http.get(f"/runs/{run}.json")).json()["text"] == ANSWER
        assert (await http.get(f"/runs/{run}.exe")).status_code == 404
        assert (await http.get("/runs/none")).status_code == 404
