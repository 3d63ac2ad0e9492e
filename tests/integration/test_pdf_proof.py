"""The page of a PDF in an answer, as a real browser shows it. No model: the run is scripted."""

from __future__ import annotations

from pathlib import Path

import pytest

from citeproof import Toolbox, build_vtg
from citeproof.console.page import render_page
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment
from tests.integration.chromium import Tab
from tests.pdfs import Sheet, lines, make
from tests.tools.documents.reading import read_file

RAINED = "It rained all day in May."
SEEN = "Array.from(document.querySelectorAll('.proof .sheet')).map(e => e.checkVisibility())"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answer")
    source = folder / "almanac.pdf"
    source.write_bytes(make([Sheet(lines("The weather was poor.", RAINED))]))
    tools = Toolbox(
        ScriptedChatModel([]),
        retriever=ListRetriever({"": read_file(source)}),
        entailment=TableEntailment(lambda text, claim: 0.9),
        roles={
            "claim_generator": ScriptedChatModel([RAINED, "DONE"]),
            "citation_generator": ScriptedChatModel([{"citations": [1]}]),
        },
    )
    graph = build_vtg(tools, max_trials=0)
    written = folder / "answer.html"
    answer = graph.invoke({"question": "How was the weather?"})["answer"]
    written.write_text(render_page(answer), encoding="utf-8")
    return written


@pytest.mark.parametrize(
    ("width", "seen"), [(1100, [True, False, False]), (400, [False, True, False])]
)
def test_the_sentence_is_shown_and_the_whole_page_on_a_click(
    page: Path, browser: Tab, width: int, seen: list[bool]
) -> None:
    browser.show(width=width)
    browser.open(page)
    assert browser.value(SEEN) == seen
    browser.click(".proof .hint")
    browser.wait("document.querySelector('.proof').open")
    assert browser.value(SEEN) == [False, False, True]
    browser.press("Enter")
    browser.wait("!document.querySelector('.proof').open")
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert {address.partition(":")[0] for address in browser.requests} == {"file", "data"}
    assert browser.complaints == []
