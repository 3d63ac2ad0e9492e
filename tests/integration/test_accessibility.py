"""axe-core finds nothing wrong with any page, in light and in dark colours."""

from __future__ import annotations

from pathlib import Path

import pytest

from citeproof import Passage
from citeproof.console.page import render_check, render_page, render_trace
from citeproof.evaluation.results import Result
from citeproof.evaluation.traces import make_trace
from citeproof.graphs.registry import METHODS
from citeproof.graphs.shape import read_shape
from citeproof.testing import TableEntailment
from citeproof.tools.checking.check import check
from tests.console import sample
from tests.graphs.scripts import LIT, Script
from tests.integration.axe import findings, script
from tests.integration.chromium import Tab
from tests.server.serving import QUESTION, served


@pytest.fixture(scope="module")
def browser(browser: Tab) -> Tab:
    script()
    browser.call("Page.setBypassCSP", enabled=True)  # the page's own policy refuses axe-core
    return browser


def look(page: Tab) -> None:
    """Fail if axe-core finds anything, in either scheme, with all that unfolds unfolded."""
    page.value("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    for scheme in ("light", "dark"):
        page.show(scheme=scheme)
        assert findings(page) == [], scheme


def test_an_answer(browser: Tab, tmp_path: Path) -> None:
    answer, moments = tmp_path / "answer.html", sample.timed()
    answer.write_text(
        render_page(sample.ANSWER, moments, read_shape(METHODS["vtg"].sketch())), "utf-8"
    )
    browser.open(answer)
    look(browser)


def test_a_trace(browser: Tab, tmp_path: Path) -> None:
    page = tmp_path / "trace.html"
    result = Result(id="", question=sample.QUESTION, answer=sample.ANSWER)
    trace = make_trace(METHODS["vtg"].sketch(), "vtg", result, sample.timed())
    page.write_text(render_trace(trace), "utf-8")
    browser.open(page)
    look(browser)


async def test_a_checked_text(browser: Tab, tmp_path: Path) -> None:
    text = "Ann Lee built it [1]. It was lit in 1871 [1]. Cy Fox built it [2]. Bo Ray kept it."
    passages = {n: [Passage(id=str(n), title=f"Page {n}", text=said)] for n, said in SAID.items()}
    table = TableEntailment(lambda premise, claim: 0.9 if claim in premise else 0.1)
    page = tmp_path / "check.html"
    page.write_text(render_check(await check(text, passages, table), "letter.txt"), "utf-8")
    browser.open(page)
    look(browser)


SAID = {1: "Ann Lee built it.", 2: "It was lit in 1871."}


def test_the_page_of_the_server(browser: Tab, tmp_path: Path) -> None:
    said = ["Cy Fox built the tower."] * 2 + [LIT, "DONE"]
    script = Script(said, [[1], [1], [2]], questions=[["Who?"]])
    with served(tmp_path, script.toolbox()) as url:
        browser.call("Page.navigate", url=url)
        browser.wait("!!document.getElementById('parameter-review')")
        look(browser)
        browser.value("document.getElementById('parameter-review').checked = true")
        browser.value("document.getElementById('parameter-max_trials').value = 0")
        browser.value("document.getElementById('question').focus()")
        browser.call("Input.insertText", text=QUESTION)
        browser.press("Enter")
        browser.wait("!!document.querySelector('.review')")
        browser.value("document.querySelector('.review [value=edit]').click()")
        look(browser)
        browser.value("document.querySelector('.review [value=approve]').click()")
        browser.wait("!!document.querySelector('.turn .settled')")
        look(browser)
        for name in ("documents", "conversations"):
            browser.value(f"document.getElementById('open-{name}').click()")
            look(browser)
            browser.press("Escape")
