"""The page of a run as a real browser shows it. No model: the run is scripted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from citeproof import Passage, Toolbox, build_vtg
from citeproof.console.page import render_trace
from citeproof.evaluation.results import Result
from citeproof.evaluation.traces import Trace, make_trace
from citeproof.runtime.events import LLMCalled, PairsScored
from citeproof.runtime.moments import Moment, NodeFinished, NodeStarted
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment, passage
from tests.integration.chromium import Tab
from tests.integration.conftest import EXAMPLES
from tests.watching import watch

QUESTION = (
    "Who built Pellow Head Lighthouse, when was it first lit, and how many steps does it have?"
)
BUILT = "The engineer Ines Marrable built Pellow Head Lighthouse between 1868 and 1871."
LIT = "Pellow Head Lighthouse was first lit on 3 October 1871."
WRONG = "Pellow Head Lighthouse was first lit in the summer of 1870."
STEPS = "Pellow Head Lighthouse has 168 steps that visitors have counted to be 171."
QUERY = "When was Pellow Head Lighthouse first lit?"


def parts(name: str) -> list[Passage]:
    """The paragraphs of an example document, as an index would hold them."""
    text = (EXAMPLES / "documents" / name).read_text("utf-8")
    head, *sections = re.split(r"^#+ ", text, flags=re.MULTILINE)[1:]
    found = []
    for section in sections:
        title, _, body = section.partition("\n")
        found.append(
            passage(" ".join(body.split()), title=f"{head.strip()}: {title}", source=f"…/{name}")
        )
    return found


TOWER, LENS, INSIDE = parts("pellow-head-lighthouse.md")[:3]
HALL = parts("harbour-museum.md")[1]


def toolbox(delay: float = 0.0) -> Toolbox:
    """VTG's tools: one claim is proved at once, one after new evidence, one not at all."""
    proofs = {BUILT: TOWER.text, LIT: HALL.text}
    roles: dict[str, list[Any]] = {
        "claim_generator": [BUILT, WRONG, LIT, STEPS, STEPS, "DONE"],
        "citation_generator": [{"citations": [n]} for n in (1, 2, 4, 3, 3)],
        "evidence_finder": [{"questions": [QUERY]}, {"questions": ["How many steps?"]}],
    }
    return Toolbox(
        ScriptedChatModel([]),
        retriever=ListRetriever({QUERY: [HALL, TOWER], "": [TOWER, LENS, INSIDE]}),
        entailment=TableEntailment(
            lambda text, claim: 0.96 if proofs.get(claim, "none") in text else 0.11
        ),
        roles={key: ScriptedChatModel(replies, delay=delay) for key, replies in roles.items()},
    )


async def scripted(delay: float = 0.0) -> Trace:
    graph = build_vtg(toolbox(delay), max_trials=0)
    moments = await watch(graph, {"question": QUESTION})
    return make_trace(graph, "vtg", Result(id="", question=QUESTION), moments)


@pytest.fixture
async def page(tmp_path: Path) -> Path:
    path = tmp_path / "trace.html"
    path.write_text(render_trace(await scripted()), "utf-8")
    return path


@pytest.fixture
def opened(browser: Tab, page: Path) -> Tab:
    browser.show()
    browser.requests.clear()
    browser.complaints.clear()
    browser.open(page)
    return browser


CARD = "!document.getElementById('card').hidden && document.getElementById('card').innerText"


def test_hovering_over_a_citation_shows_its_passage(opened: Tab) -> None:
    assert opened.value("document.getElementById('card').hidden")
    opened.hover("a.chip")
    opened.wait(CARD)
    shown = opened.value(CARD)
    assert TOWER.title in shown
    assert TOWER.text in shown
    assert opened.value("document.querySelector('#card mark').innerText") == BUILT
    opened.hover("h1")
    opened.wait("document.getElementById('card').hidden")


def test_the_keyboard_comes_to_citations_and_steps(opened: Tab) -> None:
    for _ in range(2):  # the first claim, then its citation
        opened.press("Tab")
    opened.wait(CARD)
    assert opened.value("document.activeElement.className") == "chip lit"
    assert TOWER.text in opened.value(CARD)
    opened.press("Escape")
    assert opened.value("document.getElementById('card').hidden")
    opened.value("document.querySelector('.graph a').focus()")
    assert opened.value("document.activeElement.getAttribute('href')") == "#step-1"
    for _ in range(2):  # the second time the address is there already
        opened.value("document.querySelector('.graph a').focus()")
        opened.press("Enter")
        opened.wait("document.querySelector('#step-1 > details').open")
        opened.press("Enter")  # a step's own row has the keyboard now
        opened.wait("!document.querySelector('#step-1 > details').open")


def test_an_address_is_revealed_once(opened: Tab) -> None:
    """Twice would unfold what was folded in between."""
    opened.value(
        "revealed = 0; Element.prototype.scrollIntoView = () => { revealed += 1 };"
        "const clicked = new MouseEvent('click', { bubbles: true, cancelable: true });"
        "document.querySelector('.graph a').dispatchEvent(clicked); settled = false;"
        "setTimeout(() => { settled = true }, 300)"
    )
    opened.wait("settled")
    assert opened.value("revealed") == 1


def test_the_trace_unfolds_to_prompts_replies_and_verdicts(opened: Tab) -> None:
    assert opened.value("document.getElementById('trace').open")
    steps = opened.value("document.querySelectorAll('.steps > li').length")
    assert steps == 34
    seen = "document.querySelector('#step-3 .inside').checkVisibility()"
    assert not opened.value(seen)
    opened.click("#step-3 summary")
    opened.wait(seen)
    shown = opened.value("document.querySelector('#step-3 .inside').innerText")
    assert BUILT in shown
    assert QUESTION in shown
    opened.click("#step-5 summary")
    opened.wait("document.querySelector('#step-5 > details').open")
    verdict = opened.value("document.querySelector('#step-5').innerText")
    for words in ("generation verifier", "score 0.96", TOWER.text, "Verdict: supported"):
        assert words in verdict


def test_the_graph_shows_the_way_taken_and_leads_to_its_steps(opened: Tab) -> None:
    texts = opened.value("[...document.querySelectorAll('.graph a')].map(a => a.textContent)")
    counts = {re.split(r"\d", text)[0]: text for text in texts}
    assert counts["claim generator"].startswith("claim generator6 × · ")
    assert "reviewer" not in counts
    taken = opened.value("[...document.querySelectorAll('.taken title')].map(t => t.textContent)")
    assert "evidence finder → claim generator: 2 ×" in taken
    assert "citation generator → generation verifier: 5 ×" in taken
    opened.click(".graph a[href='#step-3']")
    opened.wait("document.querySelector('#step-3 > details').open")
    marked = "document.querySelectorAll('.steps > li.same[data-node=claim_generator]').length"
    assert opened.value(marked) == 6


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_way_taken_stands_out(opened: Tab, scheme: str) -> None:
    opened.show(scheme=scheme)
    style = "(s => getComputedStyle(document.querySelector(s)).{})('{}')".format
    paper = opened.value(style("backgroundColor", "body"))
    assert (paper == "rgb(251, 250, 247)") is (scheme == "light")
    assert opened.value(style("stroke", ".graph .taken")) not in (
        paper,
        opened.value(style("stroke", ".graph .edge")),
    )
    assert opened.value(style("fill", ".graph .box.ran")) != opened.value(
        style("fill", ".graph .box:not(.ran)")
    )
    assert opened.value(style("opacity", ".graph .box:not(.ran)")) == "0.5"


def test_nothing_leaves_the_page_and_nothing_is_complained_of(opened: Tab, page: Path) -> None:
    opened.hover("a.chip")
    opened.wait(CARD)
    opened.value("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    opened.click(".graph a")
    opened.value("document.getElementById('step-29').scrollIntoView()")
    assert {address.partition("#")[0] for address in opened.requests} == {page.as_uri()}
    assert opened.complaints == []


def test_whatever_tries_to_leave_is_stopped_and_complained_of(browser: Tab, page: Path) -> None:
    """What the tests above look for would be seen."""
    text = page.read_text("utf-8")
    tries = '<img src="http://127.0.0.1:9/a.png"><style>p { color: red }</style>'
    script = "<script>document.body.dataset.ran = 1</script>"
    page.write_text(text.replace("</main>", f"{tries}{script}</main>"), "utf-8")
    browser.complaints.clear()
    browser.open(page)
    assert browser.value("document.body.dataset.ran") is None
    complaints = " ".join(browser.complaints)
    for kind in ("127.0.0.1:9/a.png", "style-src", "script-src"):
        assert kind in complaints


def long() -> Trace:
    """A run of a thousand events, each with a prompt of its own."""
    text = " ".join(part.text for part in (TOWER, LENS, INSIDE))
    events: list[Any] = []
    for n in range(250):
        events += [
            NodeStarted(id=str(n), node="claim_generator"),
            LLMCalled.model_validate(
                {"role": "claim_generator", "prompt": f"{n} {text}", "reply": BUILT, "usage": {}}
            ),
            PairsScored(pairs=((text, BUILT, 0.9),)),
            NodeFinished(id=str(n), node="claim_generator"),
        ]
    moments = tuple(Moment(at=n / 10, event=event) for n, event in enumerate(events))
    return Trace(method="vtg", question=QUESTION, moments=moments)


def test_a_thousand_events_stay_fluent(browser: Tab, tmp_path: Path) -> None:
    trace = long()
    assert len(trace.moments) == 1000
    path = tmp_path / "long.html"
    path.write_text(render_trace(trace), "utf-8")
    browser.show()
    browser.open(path)
    assert browser.value("document.querySelectorAll('.steps > li').length") == 250
    took = browser.value(
        "(() => { const begun = performance.now();"
        "document.querySelector('#step-125 summary').click();"
        "document.body.offsetHeight; return performance.now() - begun; })()"
    )
    assert took < 1000, f"a step unfolds in {took:.0f} ms"
