"""The page in a real browser, over scripted models: what readers do, and what others cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from citeproof.testing import ScriptedChatModel
from tests.integration.chromium import Tab
from tests.server.serving import QUESTION, StuckModel, reply, served, toolbox, word_index
from tests.tools.model_stub import Reply, serve

TOWER = "Ann Lee built the tower."
CARD = "!document.getElementById('card').hidden && document.getElementById('card').innerText"


@pytest.fixture
def model() -> ScriptedChatModel:
    return ScriptedChatModel(reply, delay=0.15)


@pytest.fixture
def url(tmp_path: Path, model: ScriptedChatModel) -> Iterator[str]:
    index = word_index(tmp_path / "store")
    source = tmp_path / "tower.md"
    source.write_text(f"# Tower\n\n{TOWER}\n\n# Light\n\nThe tower was lit in 1871.\n")
    index.update([source])
    with served(tmp_path / "store", toolbox(model, index)) as found:
        yield found
    index.close()


@pytest.fixture
def page(browser: Tab, url: str) -> Tab:
    browser.show()
    go(browser, url)
    browser.complaints.clear()
    return browser


def go(browser: Tab, url: str) -> None:
    browser.call("Page.navigate", url=url)
    browser.wait(
        f"location.href.startsWith({json.dumps(url)}) && document.readyState === 'complete'"
    )


def type_in(page: Tab, text: str) -> None:
    page.value("document.getElementById('question').focus()")
    page.call("Input.insertText", text=text)
    page.press("Enter")


def ask(page: Tab, text: str = QUESTION, turns: int = 1) -> None:
    type_in(page, text)
    page.wait(f"document.querySelectorAll('.turn .settled').length === {turns}")


def test_claims_appear_are_checked_and_settle(page: Tab) -> None:
    page.value(
        "seen = new Set(); new MutationObserver(() => {"
        "for (const one of document.querySelectorAll('.written .claim')) seen.add(one.className);"
        "}).observe(document.getElementById('turns'),"
        "{ subtree: true, childList: true, attributes: true })"
    )
    ask(page)
    seen = page.value("[...seen]")
    for state in ("claim writing", "claim checking", "claim supported"):
        assert state in seen
    assert page.value("document.querySelector('.status').innerText").startswith("Answered")
    shown = page.value("document.querySelector('.turn').innerText")
    assert TOWER in shown
    assert "tower.md" not in shown  # readers know titles
    assert "/tmp" not in page.value("document.documentElement.outerHTML")
    assert page.value("document.getElementById('spoken').innerText").startswith(
        "The answer is ready"
    )
    assert page.complaints == []
    assert {address.split("/")[2] for address in page.requests if address.startswith("http")} == {
        page.value("location.host")
    }


def test_the_keyboard_reaches_a_citation_and_its_card(page: Tab) -> None:
    ask(page)
    page.value("document.querySelector('.turn').focus()")
    for _ in range(2):  # the claim, then its citation
        page.press("Tab")
    page.wait(CARD)
    assert TOWER in page.value(CARD)
    assert page.value("document.querySelector('#card mark').innerText") == TOWER
    assert "Open the document" in page.value(CARD)
    page.press("Escape")
    assert page.value("document.getElementById('card').hidden")
    page.hover(".turn a.chip")
    page.wait(CARD)


def test_a_follow_up_is_a_second_turn_of_the_conversation(page: Tab, url: str) -> None:
    ask(page)
    ask(page, "And when was it lit?", turns=2)
    costs = page.value("[...document.querySelectorAll('.cost > summary')].map((s) => s.innerText)")
    assert [cost.endswith(" · 1 note") for cost in costs] == [False, True]
    ids = page.value("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))
    [kept] = httpx.get(f"{url}/api/conversations").json()["conversations"]
    turns = httpx.get(f"{url}/api/conversations/{kept['id']}").json()["turns"]
    assert [turn["asked"] for turn in turns] == [QUESTION, "And when was it lit?"]
    page.click("#new")
    assert page.value("document.querySelectorAll('.turn').length") == 0
    page.click("#open-conversations")
    page.wait("!!document.querySelector('#conversations .title')")
    listed = page.value("document.querySelector('#conversations .title').innerText")
    assert listed.startswith(QUESTION)
    assert str(page.value("new Date().getFullYear()")) in listed, "some have the same question"
    page.click("#conversations .title")
    page.wait("document.querySelectorAll('.turn .settled').length === 2")
    page.value("document.querySelector('#conversations .listed').replaceChildren()")
    page.click("#open-conversations")
    page.wait("!!document.querySelector('#conversations .remove')")
    for _ in range(2):
        page.click("#conversations .remove")
    page.wait("document.querySelectorAll('.turn').length === 0")
    assert httpx.get(f"{url}/api/conversations").json() == {"conversations": []}


def test_only_the_conversation_chosen_last_is_shown(page: Tab, url: str) -> None:
    for name in ("old/1", "new"):
        body = {"question": f"{QUESTION} ({name})", "conversation": name, "stream": False}
        assert httpx.post(f"{url}/api/ask", json=body, timeout=60).is_success
    page.value(
        "real = fetch; window.fetch = async (path, how) => { const got = await real(path, how);"
        "if (path.includes('old%2F1')) await new Promise((go) => { late = go }); return got }; 0"
    )
    for place in (2, 1):
        page.click("#open-conversations")
        page.wait("document.querySelectorAll('#conversations .title').length === 2")
        page.click(f"#conversations li:nth-child({place}) .title")
    page.wait("document.querySelectorAll('.turn .settled').length === 1")
    page.value("late(); setTimeout(() => { over = true }, 300); 0")
    page.wait("window.over")
    asked = page.value("[...document.querySelectorAll('.asked')].map((one) => one.innerText)")
    assert asked == [f"{QUESTION} (new)"]


def test_a_conversation_without_an_answer_is_told_of(browser: Tab, tmp_path: Path) -> None:
    browser.show()
    with served(tmp_path, toolbox(ScriptedChatModel([ValueError("broken")]))) as url:
        body = {"question": QUESTION, "conversation": "c", "stream": False}
        assert not httpx.post(f"{url}/api/ask", json=body, timeout=60).is_success
        go(browser, url)
        browser.click("#open-conversations")
        browser.wait("!!document.querySelector('#conversations .title')")
        browser.click("#conversations .title")
        browser.wait("!!document.querySelector('#turns > .problem')")
        told = browser.value("document.querySelector('#turns > .problem').innerText")
    assert told == "No question of this conversation was answered."


def test_a_citation_never_begins_a_line_and_passages_keep_theirs(page: Tab) -> None:
    ask(page)
    alone = (
        "document.querySelector('.prose').style.width = w + 'px';"
        "for (const one of document.querySelectorAll('.said')) {"
        "const [claim, chip] = ['.claim', '.chip'].map((s) => one.querySelector(s));"
        "const end = [...claim.getClientRects()].at(-1).right;"
        "if (chip.getBoundingClientRect().left < end - 1) found += 1 }"
    )
    assert page.value(f"found = 0; for (let w = 90; w < 400; w++) {{ {alone} }} found") == 0
    page.value("document.querySelector('.sources blockquote').textContent = '1. Lit\\n2. Dark'")
    assert (
        page.value("document.querySelector('.sources blockquote').innerText") == "1. Lit\n2. Dark"
    )


def test_the_trace_unfolds(page: Tab) -> None:
    ask(page)
    steps = "document.querySelector('.trace .steps').checkVisibility()"
    assert not page.value(steps)
    page.click(".cost > summary")
    page.click(".trace > summary")
    page.wait(steps)
    page.click(".graph a")
    page.wait("document.querySelector('.steps > li > details').open")
    assert page.complaints == []


def test_stop_ends_the_run(browser: Tab, tmp_path: Path) -> None:
    browser.show()
    model = StuckModel(reply)
    with served(tmp_path, toolbox(model)) as url:
        go(browser, url)
        type_in(browser, QUESTION)
        browser.wait("!!document.querySelector('.written .claim')")
        assert model.stuck.wait(60)
        browser.click("#stop")
        browser.wait("document.querySelector('.problem')?.innerText === 'Stopped.'")
        assert model.given_up.wait(60)
    assert browser.value("document.getElementById('stop').hidden")
    assert browser.value("document.activeElement.id") == "question"
    assert browser.value("document.getElementById('question').value") == QUESTION


def test_a_page_that_is_reloaded_in_the_middle_of_an_answer_has_the_question(
    browser: Tab, tmp_path: Path
) -> None:
    with served(tmp_path, toolbox(StuckModel(reply))) as url:
        go(browser, url)
        type_in(browser, QUESTION)
        browser.wait("!!document.querySelector('.written .claim')")
        browser.call("Page.reload")
        browser.wait(f"document.getElementById('question').value === {json.dumps(QUESTION)}")


def test_a_reloaded_page_shows_its_conversation(page: Tab, url: str) -> None:
    ask(page)
    page.call("Page.reload")
    page.wait("document.querySelectorAll('.turn .settled').length === 1")
    ask(page, "And when was it lit?", turns=2)
    [kept] = httpx.get(f"{url}/api/conversations").json()["conversations"]
    assert page.value("location.search") == f"?conversation={kept['id']}"
    page.click("#new")
    page.call("Page.reload")
    page.wait("document.readyState === 'complete' && document.activeElement.id === 'question'")
    assert page.value("document.querySelectorAll('.turn').length") == 0


def test_a_refused_removal_is_told_and_may_be_tried_again(browser: Tab, tmp_path: Path) -> None:
    browser.show(width=360)
    with served(tmp_path, toolbox(StuckModel(reply))) as url:
        go(browser, url)
        type_in(browser, QUESTION)
        browser.wait("!!document.querySelector('.written .claim')")
        browser.click("#open-conversations")
        browser.wait("!!document.querySelector('#conversations .remove')")
        browser.click("#conversations .remove")
        label = "document.querySelector('#conversations .remove').ariaLabel"
        assert browser.value(label) == f"Really remove {QUESTION}"
        browser.click("#conversations .remove")
        browser.wait("!!document.querySelector('#conversations .problem:not([hidden])')")
        told = browser.value("document.querySelector('#conversations .problem').innerText")
        assert told.startswith("This conversation is being answered.")
        assert not browser.value("document.querySelector('#conversations .remove').disabled")
        box = "document.getElementById('conversations')"
        assert browser.value(f"{box}.scrollWidth <= {box}.clientWidth")


def test_a_question_that_is_too_long_is_refused_whole(page: Tab) -> None:
    asked = "Who built it?\n" + "And why? " * 500
    type_in(page, asked)
    page.wait("!!document.querySelector('.turn .problem:not([hidden])')")
    told = page.value("document.querySelector('.turn .problem').innerText")
    assert told == "The question is too long. Use at most 4,000 characters."
    assert page.value("document.getElementById('question').value") == asked.strip()
    shown = "document.querySelector('.asked')"
    assert page.value(f"{shown}.innerText").startswith("Who built it?\n")
    assert page.value(f"{shown}.clientHeight < innerHeight / 2 && {shown}.tabIndex === 0")
    page.value("document.getElementById('question').value = ''")
    type_in(page, QUESTION)
    assert page.value("[...document.querySelectorAll('.asked')].at(-1).tabIndex") == -1


def test_parameters_are_sent(page: Tab) -> None:
    page.wait("!!document.getElementById('parameter-max_claims')")
    page.value("document.getElementById('parameter-max_claims').value = 1")
    ask(page)
    assert page.value("document.querySelectorAll('.turn .claim').length") == 1


def test_a_document_is_added_and_removed(page: Tab, tmp_path: Path, url: str) -> None:
    file = tmp_path / "storm.txt"
    file.write_text("A storm broke the lamp in 1902.")
    page.click("#open-documents")
    page.wait("!!document.querySelector('#list li')")
    document = page.call("DOM.getDocument")["root"]["nodeId"]
    node = page.call("DOM.querySelector", nodeId=document, selector="#files")["nodeId"]
    page.call("DOM.setFileInputFiles", nodeId=node, files=[str(file)])
    page.wait("document.querySelector('#adding').innerText.includes('1 document added.')")
    page.wait("document.querySelectorAll('#list li').length === 2")
    empty = tmp_path / "empty.md"
    empty.touch()
    page.value("document.querySelector('#list').replaceChildren()")
    page.call("DOM.setFileInputFiles", nodeId=node, files=[str(file), str(empty)])
    page.wait("document.querySelector('#adding').innerText.includes('1 document unchanged.')")
    page.wait("document.querySelector('#adding').innerText.includes('\\nempty.md is empty.')")
    page.wait("document.querySelectorAll('#list li').length === 2")
    button = "#list li:nth-child(1) .remove"
    assert page.value(f"document.querySelector('{button}').ariaLabel") == "Remove storm.txt"
    page.click(button)
    page.click(button)
    page.wait("document.querySelectorAll('#list li').length === 1")
    page.wait("document.activeElement.ariaLabel === 'Remove tower.md'")
    page.press("Escape")
    assert not page.value("document.getElementById('documents').open")
    assert page.complaints == []


def test_the_page_works_over_plain_http_from_another_machine(page: Tab, url: str) -> None:
    # Browsers take the loopback address for safe; elsewhere these need HTTPS.
    unsafe = "delete Crypto.prototype.randomUUID; delete Navigator.prototype.clipboard"
    added = page.call("Page.addScriptToEvaluateOnNewDocument", source=unsafe)
    try:
        go(page, f"{url}/")
        page.wait("document.getElementById('parameters').children.length > 0")
        ask(page)
        assert page.value("document.querySelector('.turn .copy').checkVisibility()") is False
        assert page.complaints == []
    finally:
        page.call("Page.removeScriptToEvaluateOnNewDocument", **added)


def test_documents_that_cannot_be_listed_are_told_of(browser: Tab, tmp_path: Path) -> None:
    browser.show()
    with served(tmp_path) as url:
        go(browser, url)
        browser.click("#open-documents")
        browser.wait("!!document.querySelector('#documents [role=alert]')")
        told = browser.value("document.querySelector('#documents [role=alert]').innerText")
    assert told.startswith("The documents of this server can neither be listed")


def test_a_failure_is_told_on_the_page(page: Tab) -> None:
    page.wait("!!document.getElementById('parameter-k')")
    page.value("document.getElementById('parameter-k').value = 0")
    type_in(page, QUESTION)
    page.wait("!!document.querySelector('.problem:not([hidden])')")
    assert "The parameter k cannot be 0" in page.value(
        "document.querySelector('.problem').innerText"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1100, 360])
def test_nothing_is_wider_than_the_window(page: Tab, scheme: str, width: int) -> None:
    page.show(scheme=scheme, width=width)
    ask(page)
    ask(page, "y" * 300, turns=2)  # it is rewritten, and both are shown
    assert page.value("document.documentElement.scrollWidth") <= width
    assert page.value("document.body.innerText").count("y" * 300) == 1
    page.click("#open-documents")
    box = "document.getElementById('documents')"
    assert page.value(f"{box}.scrollWidth <= {box}.clientWidth")
    paper = page.value("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(251, 250, 247)") is (scheme == "light")


@pytest.fixture
def elsewhere() -> Iterator[str]:
    evil = Reply("<!doctype html><title>evil</title>", headers={"content-type": "text/html"})
    with serve(lambda path, body: evil) as stub:
        yield stub.url


def test_another_origin_reads_writes_and_runs_nothing(
    browser: Tab, elsewhere: str, url: str, model: ScriptedChatModel
) -> None:
    go(browser, elsewhere)
    body = json.dumps({"question": QUESTION, "stream": False})
    browser.value("form = new FormData(); form.append('files', new Blob(['x']), 'a.md'); 0")
    typed, own = "'content-type': 'application/json'", "'x-citeproof': 'upload'"
    tries = {
        "read": ("documents", ""),
        "blind read": ("documents", "mode: 'no-cors'"),
        "run": ("ask", f"method: 'POST', body: '{body}', headers: {{ {typed} }}"),
        "blind run": ("ask", f"method: 'POST', mode: 'no-cors', body: '{body}'"),
        "write": ("documents", f"method: 'POST', body: form, headers: {{ {own} }}"),
        "blind write": ("documents", "method: 'POST', mode: 'no-cors', body: form"),
        "delete": ("conversations/c", "method: 'DELETE'"),
    }
    before = httpx.get(f"{url}/api/documents").json()
    wait = partial(browser.wait, "'result' in window")
    for kind, (path, options) in tries.items():
        browser.value(
            "delete window.result;"
            f"fetch('{url}/api/{path}', {{ {options} }}).then((r) => r.text()).then("
            "(text) => { window.result = text }, () => { window.result = 'refused' }); 0"
        )
        wait()
        assert browser.value("window.result") in ("refused", ""), kind
    browser.value(
        f"delete window.result; frame = document.createElement('iframe'); frame.src = '{url}/';"
        "frame.onload = () => {"
        "try { window.result = String(frame.contentDocument?.body?.innerText) }"
        " catch { window.result = 'refused' } }; document.body.append(frame); 0"
    )
    wait()
    assert "Ask your documents" not in browser.value("window.result")
    assert model.calls == []
    assert httpx.get(f"{url}/api/documents").json() == before
