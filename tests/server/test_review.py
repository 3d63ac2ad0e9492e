"""A person decides on claims that nothing proves: over HTTP, and on the page by the keyboard."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest

from citeproof import Toolbox
from citeproof.console.threads import Checkpoints
from citeproof.integrations.turns import Turns
from citeproof.runtime.events import ReviewRequested
from citeproof.server.asking import Asking, Message
from citeproof.server.conversations import Conversations
from citeproof.server.errors import NotFoundError
from citeproof.server.opening import Opening
from citeproof.server.runs import Runs
from tests.graphs.scripts import BUILT, LIT, Script
from tests.integration.chromium import Tab, tab
from tests.server.serving import QUESTION, client, served

WRONG = "Cy Fox built the tower."
REVIEWED = {"review": True, "max_trials": 0}


def tools() -> Toolbox:
    """Say what nothing proves, twice, then what is proved, then that it is done."""
    said = [WRONG, WRONG, LIT, "DONE"]
    return Script(said, [[1], [1], [2]], questions=[["Who?"]]).toolbox()


async def run(http: httpx.AsyncClient, decisions: list[dict[str, str]], **more: Any) -> list[Any]:
    """The events of a question whose reviews get these decisions in turn."""
    left, told, name, run_id = list(decisions), [], "", ""
    body = {"question": QUESTION, "parameters": REVIEWED, **more}
    async with http.stream("POST", "/api/ask", json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith("event: "):
                name = line[7:]
            if not line.startswith("data: "):
                continue
            told.append((name, json.loads(line[6:])))
            run_id = told[-1][1]["run"] if name == "run" else run_id
            if name == "review_requested":
                path = f"/api/ask/{run_id}/decision"
                assert (await http.post(path, json=left.pop(0))).status_code == 204
    assert left == []
    return told


@pytest.mark.parametrize(
    ("decisions", "text"),
    [
        ([{"decision": "approve"}], f"{WRONG[:-1]} [1]. [unverified] {LIT[:-1]} [2]."),
        ([{"decision": "drop"}], f"{LIT[:-1]} [1]."),
        ([{"decision": "edit", "text": BUILT}], f"{BUILT[:-1]} [1]. {LIT[:-1]} [2]."),
        # An edit without words is asked about again.
        ([{"decision": "edit"}, {"decision": "drop"}], f"{LIT[:-1]} [1]."),
    ],
)
@pytest.mark.parametrize("kept", [{}, {"conversation": "c"}])
async def test_a_claim_is_decided_on(
    tmp_path: Path, decisions: list[dict[str, str]], text: str, kept: dict[str, str]
) -> None:
    with served(tmp_path, tools()) as url:
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            told = await run(http, decisions, **kept)
            name, last = told[-1]
            assert (name, last["answer"]["text"]) == ("answer_ready", text)
            found = (await http.get("/api/conversations")).json()["conversations"]
    assert [one["title"] for one in found] == ([QUESTION] if kept else [])


async def test_a_run_that_waits_for_a_person_holds_up_nobody(tmp_path: Path) -> None:
    with served(tmp_path, tools(), at_once=1) as url:
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            body = {"question": QUESTION, "parameters": REVIEWED}
            async with http.stream("POST", "/api/ask", json=body) as waiting:
                async for line in waiting.aiter_lines():
                    if line == "event: review_requested":
                        break
                other = {"question": QUESTION, "stream": False}
                answer = await asyncio.wait_for(http.post("/api/ask", json=other), 30)
                assert answer.json()["text"] == "The tower was lit in 1871 [1]."


async def test_a_run_that_was_left_takes_no_decision(tmp_path: Path) -> None:
    opening, said = Opening(lambda progress: tools()), [Message(role="user", content=QUESTION)]
    opening.start()
    asking = Asking(opening, Turns(1, 1), Runs(), Conversations(Checkpoints(tmp_path)))
    question = asking.question(said, parameters=REVIEWED, attended=True)
    async with aclosing(asking.moments(question)) as moments:
        async for moment in moments:
            if isinstance(moment.event, ReviewRequested):
                break
    with pytest.raises(NotFoundError):
        asking.reviews.decide(question.run, {"decision": "drop"})
    await opening.close()


async def test_what_waits_for_nothing_cannot_be_decided_on(tmp_path: Path) -> None:
    async with client(tmp_path) as http:
        lost = await http.post("/api/ask/none/decision", json={"decision": "drop"})
        wrong = await http.post("/api/ask/none/decision", json={"decision": "perhaps"})
    assert (lost.status_code, wrong.status_code) == (404, 400)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Tab]:
    with served(tmp_path / "store", tools()) as url, tab(tmp_path / "chromium") as opened:
        opened.show()
        opened.call("Page.navigate", url=url)
        opened.wait("!!document.getElementById('parameter-review')")
        opened.value("document.getElementById('parameter-review').checked = true")
        opened.value("document.getElementById('parameter-max_trials').value = 0")
        yield opened


def ask(page: Tab) -> None:
    """Ask, and wait for the review."""
    page.value("document.getElementById('question').focus()")
    page.call("Input.insertText", text=QUESTION)
    page.press("Enter")
    page.wait("document.activeElement.matches('.review h3')")


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        (["Tab", "Enter"], WRONG),
        (["Tab", "Tab", "Enter", f"Cy Fox helped.{chr(10)}", "Tab", "Enter"], "Cy Fox helped."),
        (["Tab", "Tab", "Tab", "Enter"], LIT),
    ],
    ids=["approve", "edit", "drop"],
)
def test_the_keyboard_decides_on_the_page(page: Tab, keys: list[str], shown: str) -> None:
    ask(page)
    spoken = page.value("document.getElementById('spoken').innerText")
    assert spoken == f"Your decision is needed. Nothing proves this claim: {WRONG}"
    for key in keys:
        if key in ("Tab", "Enter"):
            page.press(key)
            continue
        page.wait("document.activeElement.matches('.review textarea')")
        page.value("document.activeElement.select()")
        page.call("Input.insertText", text=key.strip())
        page.press("Enter")
        page.wait("document.querySelector('.review .claim')?.innerText === 'Cy Fox helped.'")
        page.wait("document.activeElement.matches('.review h3')")
    page.wait("!!document.querySelector('.turn .settled')")
    text = page.value("document.querySelector('.turn .answer').innerText")
    assert text.startswith(shown)
    assert page.value("document.querySelector('.review')") is None
    assert [told for told in page.complaints if "400" not in told] == []  # it has no documents


def test_a_run_stopped_while_it_waits_for_a_person_says_so(page: Tab) -> None:
    ask(page)
    page.click("#stop")
    page.wait("document.querySelector('.turn .problem').innerText === 'Stopped.'")
    assert page.value("document.querySelector('.review')") is None
