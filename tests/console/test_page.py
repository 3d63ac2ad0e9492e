from __future__ import annotations

import base64
import hashlib
import re
from datetime import date
from html.parser import HTMLParser
from typing import Any

import pytest

from citeproof.console.page import render_page
from citeproof.console.timeline import gather_steps
from citeproof.graphs.registry import METHODS
from citeproof.graphs.shape import read_shape
from citeproof.runtime.events import (
    AnswerReady,
    ClaimAccepted,
    ClaimDrafted,
    ClaimRejected,
    ClaimReviewed,
    ClaimVerified,
    EvidenceFound,
    LLMCalled,
    PairsScored,
    PassagesRetrieved,
    ReviewRequested,
)
from citeproof.runtime.moments import Moment
from citeproof.types import Answer, Claim, Passage, QuotedPassage, Usage, Verdict
from tests.console.sample import (
    ANSWER,
    CLAIMS,
    LENS,
    Told,
    claim,
    finished,
    started,
    timed,
)

_VOID = {"meta"}
PROVED, NOBODY = "every claim proved", "no verifier has looked at it"
FAILED = "what it was checked against does not entail it"


class Page(HTMLParser):
    """Reads a page; it must be well formed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        return [
            own
            for name, own in self.tags
            if name == tag and all(own.get(key) == value for key, value in attributes.items())
        ]


def test_the_page_loads_nothing_and_allows_only_its_own_style_and_script() -> None:
    page = render_page(ANSWER, timed())
    [policy] = Page(page).all("meta", **{"http-equiv": "Content-Security-Policy"})
    for tag in ("style", "script"):
        [inside] = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in (policy["content"] or "")
        assert "url(" not in inside
        assert "@import" not in inside
    assert (policy["content"] or "").startswith("default-src 'none'; ")
    attributes = [name for _, own in Page(page).tags for name in own]
    assert not {"src", "style", "srcset"} & set(attributes)
    assert not [name for name in attributes if name.startswith("on")]


def test_every_citation_leads_to_its_source_and_has_a_card() -> None:
    page = Page(render_page(ANSWER))
    ids = {own["id"] for _, own in page.tags if own.get("id")}
    chips = page.all("a", **{"class": "chip"})
    assert [(chip["href"], chip["data-card"]) for chip in chips] == [
        ("#source-1", "card-1-1"),
        ("#source-1", "card-2-1"),
        ("#source-2", "card-2-2"),
        ("#source-3", "card-3-3"),
    ]
    for chip in chips:
        assert (chip["href"] or "")[1:] in ids
        assert chip["data-card"] in ids
    claims = [own for own in page.all("span") if (own.get("class") or "").startswith("claim ")]
    verdicts = ("supported", "supported", "unsupported")
    assert [own["class"] for own in claims] == [f"claim {verdict}" for verdict in verdicts]
    assert all(own["data-card"] in ids and own["tabindex"] == "0" for own in claims)
    [link] = page.all("a", target="_blank")  # only a web address becomes one
    assert (link["href"], link["rel"]) == (LENS.source, "noopener noreferrer")


def test_an_item_of_a_list_ends_its_line() -> None:
    said = [CLAIMS[0].model_copy(update={"text": text}) for text in ("Sail", "Rest.", "Done.")]
    page = render_page(ANSWER.model_copy(update={"claims": tuple(said)}))
    assert len(re.findall(r"<br>", page)) == 1


def test_a_card_highlights_the_sentence_that_the_claim_rests_on() -> None:
    page = render_page(ANSWER)
    [card] = re.findall(r'<template id="card-2-2">(.*?)</template>', page, re.DOTALL)
    # The passage breaks the line inside the sentence.
    assert (
        "<mark>The Corvane Glassworks finished the lens in 1870 and packed it\n"
        "for the voyage in forty crates of straw.</mark> Not one prism broke." in card
    )
    assert "The lens and the lamp, p. 12" in card
    [card] = re.findall(r'<template id="card-2">(.*?)</template>', page, re.DOTALL)
    for word in ("Proved", "the passages in memory", "0.91", "2 times"):
        assert word in card


def test_the_trace_has_a_row_for_each_step() -> None:
    page = Page(render_page(ANSWER, timed()))
    assert len(page.all("span", **{"class": "node"})) == len(gather_steps(timed())) == 15
    assert "the same 786 characters as in the previous prompt" in page.text
    assert "score 0.07" in page.text
    assert "trace" not in {own.get("id") for _, own in Page(render_page(ANSWER)).tags}


def test_steps_hold_what_happened_inside_them() -> None:
    found = gather_steps(timed())
    assert [step.node for step in found[:2]] == ["retriever", "claim_generator"]
    writing = found[1]
    assert (writing.began, round(writing.ended, 6)) == (0.4, 3.6)
    assert [event.type for event in writing.events] == ["llm_called", "claim_drafted"]


def test_a_step_that_was_broken_off_lasts_until_the_end() -> None:
    rejected = ClaimRejected(text="x", reason="y")
    [step] = gather_steps([Moment(at=5.0, event=started("a")), Moment(at=7.0, event=rejected)])
    assert (step.began, step.ended, step.open) == (0.0, 2.0, True)


def test_a_step_holds_what_its_node_read_and_wrote_and_the_error_that_it_raised() -> None:
    failed = finished("a", Usage(llm_calls=1), draft="D").model_copy(update={"error": "E: no"})
    told: list[Told] = [started("a", question="Q"), failed, finished("never begun")]
    [step] = gather_steps(timed(told))
    assert (step.reads, step.writes) == ({"question": "Q"}, {"draft": "D"})
    assert (step.usage.llm_calls, step.error) == (1, "E: no")
    page = render_page(ANSWER, timed(told))
    assert re.search("<h3>Error ?</h3><p>E: no</p>", page)
    assert '<span class="result rejected"><b>✗</b> E: no</span>' in page


def ran(*nodes: str, inside: tuple[str, ...] = ()) -> list[Told | Moment]:
    """Starts, and ends where a node is named with a stroke before it.

    Args:
        *nodes: Their names.
        inside: The nodes that their graph runs in, outermost first.
    """
    return [
        Moment(
            at=0.0,
            namespace=tuple(f"{outer}:id-of-{outer}" for outer in inside),
            event=finished(node[1:]) if node.startswith("/") else started(node),
        )
        for node in nodes
    ]


def test_a_graph_inside_a_node_has_its_steps_inside_the_nodes_step() -> None:
    found = gather_steps(
        timed(
            [
                *ran("retrieval_stage"),
                *ran("search_opener", "/search_opener", "answerer", inside=("retrieval_stage",)),
                PassagesRetrieved(passages=(LENS,)),
                *ran("/answerer", inside=("retrieval_stage",)),
                EvidenceFound(queries=("q",), passages=()),
                *ran("/retrieval_stage", "writer", "/writer"),
            ]
        )
    )
    assert [step.node for step in found] == ["retrieval_stage", "writer"]
    inside = [step.node for step in found[0].all()]
    assert inside == ["retrieval_stage", "search_opener", "answerer"]
    assert [event.type for event in found[0].events] == ["evidence_found"]
    assert [event.type for event in found[0].inner[1].events] == ["passages_retrieved"]


def test_an_event_of_graphs_that_run_side_by_side_is_in_the_step_of_its_own() -> None:
    accepted = ClaimAccepted(claim=CLAIMS[2])
    found = gather_steps(
        timed(
            [
                *ran("left", "right"),
                *ran("writer", inside=("left",)),
                *ran("reader", inside=("right",)),
                Moment(at=0.0, namespace=("left:id-of-left",), event=accepted),
            ]
        )
    )
    assert [[step.node for step in one.all()] for one in found] == [
        ["left", "writer"],
        ["right", "reader"],
    ]
    assert found[0].inner[0].events == [accepted]


def test_what_happens_after_the_last_step_belongs_to_it() -> None:
    rejected = ClaimRejected(text="x", reason="y")
    [first, last] = gather_steps(timed([*ran("a", "/a", "b", "/b"), rejected]))
    assert (first.events, last.events) == ([], [rejected])
    assert gather_steps(timed([rejected])) == []
    [_, beside, again] = gather_steps(timed([*ran("a", "/a", "b", "a"), rejected]))
    assert (beside.events, again.events) == ([], [rejected])


def test_a_node_that_waited_for_a_person_begins_anew() -> None:
    shown = ReviewRequested(claim=CLAIMS[2], passages=(LENS,), problem="The text is empty.")
    decided = ClaimReviewed(text=CLAIMS[2].text, decision="approve")
    events = [*ran("memory_verifier", "/memory_verifier", "reviewer"), shown]
    events += [*ran("/reviewer", "reviewer"), decided, *ran("/reviewer", "claim_acceptor")]
    events += [ClaimAccepted(claim=CLAIMS[2]), *ran("/claim_acceptor")]
    found = gather_steps(timed(events))
    nodes = ["memory_verifier", "reviewer", "reviewer", "claim_acceptor"]
    assert [step.node for step in found] == nodes
    page = Page(render_page(ANSWER, timed(events), read_shape(METHODS["vtg"].sketch())))
    for words in ("Shown to a person", "The text is empty.", "Decision: approve"):
        assert words in page.text
    assert "memory verifier → reviewer: 1 ×" in page.text
    assert "reviewer → claim acceptor: 1 ×" in page.text


@pytest.mark.parametrize("deep", [True, False])
def test_graphs_in_graphs_without_end_are_put_side_by_side(deep: bool) -> None:
    """A file that somebody made may claim any depth."""
    names = [f"n{n}" for n in range(600)]
    events = [
        moment
        for n, name in enumerate(names)
        for moment in ran(name, inside=tuple(names[:n] if deep else names[n - 1 : n]))
    ]
    found = gather_steps(timed(events))
    assert sum(1 for step in found for _ in step.all()) == 600
    assert "600 steps" in Page(render_page(ANSWER, timed(events))).text


def test_the_graph_shows_the_way_that_was_taken() -> None:
    text = render_page(ANSWER, timed(), read_shape(METHODS["vtg"].sketch()))
    page = Page(text)
    told = re.findall(r"<title>([^<]+ →[^<]+)</title>", text)
    assert "retriever → claim generator: 1 ×" in told
    assert "evidence finder → claim generator: 1 ×" in told
    assert "answer composer → end: 1 ×" in told
    assert not [way for way in told if "simplifier" in way]
    [graph] = re.findall(r'<div class="graph".*?</div>', text, re.DOTALL)
    links = re.findall(r'<a href="#(step-\d+)">', graph)
    rows = {own["id"]: own["data-node"] for own in page.all("li") if own.get("data-node")}
    ran = {"retriever", "claim_generator", "generation_verifier", "memory_verifier"}
    ran |= {"evidence_finder", "claim_acceptor", "answer_composer"}
    assert {rows[link] for link in links} == ran
    assert len(links) == len(ran)
    assert "4 × · 10.1 s" in graph


def test_a_graph_inside_a_node_is_known_by_its_nodes() -> None:
    inner = ran(
        *("question_reader", "/question_reader", "candidate_retriever", "/candidate_retriever"),
        inside=("retrieval_stage",),
    )
    events = timed([*ran("retrieval_stage"), *inner, *ran("/retrieval_stage", "own", "/own")])
    text = render_page(ANSWER, events)
    graphs = re.findall(r'<div class="graph".*?</div>', text, re.DOTALL)
    assert len(graphs) == 2
    assert "document selector" not in graphs[0]  # nobody's graph: what ran is all there is
    assert "retrieval stage → own: 1 ×" in graphs[0]
    assert "document selector" in graphs[1]  # LLatrieval's
    assert "question reader → candidate retriever: 1 ×" in graphs[1]
    ids = [own["id"] for _, own in Page(text).tags if own.get("id")]
    assert len(ids) == len(set(ids))


EVIL = (
    "</p></template><script>alert(\"1\")</script><img src=x onerror='f()'>\x1b[2J\u202e"
    "\" onclick='g()' {{ 6007 * 7 }}{% include 'page.html' %}{# gone #}&lt;"
)
SEEN = EVIL.replace("\x1b", "").replace("\u202e", "")


def hostile(evil: str = EVIL) -> tuple[Answer, list[Told]]:
    passage = Passage(id="p", title=evil, source=f"javascript:{evil}", text=f"{evil}. More.")
    own = claim(evil, [("p", 1, f"{evil}.")], "unchecked", reason=evil)
    answer = Answer(
        question=evil,
        method=evil,
        status="partial",
        reason=evil,
        text=evil,
        claims=(own,),
        passages=(passage,),
        notes=(evil,),
    )
    failed = finished(evil, Usage(), **{evil: evil}).model_copy(update={"error": evil})
    events: list[Told] = [
        started(evil, **{evil: evil}),
        LLMCalled(role=evil, model=evil, prompt=f"{evil}\n" * 9, reply=evil, usage=Usage()),
        LLMCalled(role=evil, model=evil, prompt=f"{evil}\n" * 9, reply=evil, usage=Usage()),
        PairsScored(pairs=((evil, evil, 0.5),)),
        PairsScored(pairs=((evil, evil, 0.5),), quick=True),
        PassagesRetrieved(passages=(passage,)),
        EvidenceFound(queries=(evil,), passages=(passage,)),
        ClaimDrafted(text=evil, trial=1),
        ClaimVerified(text=evil, verdict=own.verdict),
        ReviewRequested(claim=own, passages=(passage,), problem=evil),
        ClaimReviewed(text=evil, decision="edit"),
        ClaimAccepted(claim=own),
        ClaimRejected(text=evil, reason=evil),
        failed,
        AnswerReady(answer=answer),
    ]
    return answer, events


def skeleton(page: str) -> list[tuple[str, list[str]]]:
    """The elements of a page, each with the names of its attributes."""
    return [(tag, sorted(attributes)) for tag, attributes in Page(page).tags]


def assert_harmless(text: str, peaceful: str) -> Page:
    """A page of hostile text has the elements of a peaceful one, and no others that act."""
    page = Page(text)
    assert skeleton(text) == skeleton(peaceful)
    assert (len(page.all("script")), page.all("img")) == (1, [])
    assert not [own for own in page.all("a") if not (own["href"] or "").startswith("#")]
    assert not {"\x1b", "\u202e"} & set(text)
    return page


def test_whatever_strangers_wrote_stays_text() -> None:
    answer, events = hostile()
    text = render_page(answer, timed(events))
    peaceful, told = hostile("Forty long words of nothing but peace. " * 3)
    page = assert_harmless(text, render_page(peaceful, timed(told)))
    assert text.count("<template") == 2
    # Every field is there, as it was written; what looks like a template is none.
    assert page.text.count(SEEN) >= 40
    assert "42049" not in text


def test_an_abstention_says_so() -> None:
    said = "It is of glass. Ann Lee built the tower. It shines."
    near = Passage(id="n", title="Lens", text=said, source="/docs/lens.md")
    answer = Answer(
        question="Who built the tower?",
        method="vtg",
        status="not_found",
        reason="Nothing found.",
        nearest=(QuotedPassage(passage=near, sentence="Ann Lee built the tower."),),
    )
    page = Page(render_page(answer))
    for words in ("No answer", "Nothing found.", "What came nearest", "lens.md"):
        assert words in page.text
    for words in ("Sources", "gave no answer"):
        assert words not in page.text
    assert "<mark>Ann Lee built the tower.</mark>" in render_page(answer)
    unsaid = Page(render_page(answer.model_copy(update={"reason": ""})))
    assert "gave no answer" in unsaid.text


def test_a_citation_without_its_passage_is_no_crash() -> None:
    page = Page(render_page(ANSWER.model_copy(update={"claims": CLAIMS[:1], "passages": ()})))
    assert page.all("template", id="card-1-1") == []


@pytest.mark.parametrize(
    ("status", "verdict", "told", "untold"),
    [
        ("answered", Verdict(status="supported", tier="cited", score=0.9), PROVED, NOBODY),
        ("answered", Verdict(status="unchecked"), NOBODY, PROVED),
        ("partial", Verdict(status="unsupported", tier="cited", score=0.0), FAILED, PROVED),
    ],
)
def test_no_more_is_said_than_was_checked(
    status: Any, verdict: Verdict, told: str, untold: str
) -> None:
    claims = (Claim(text="A.", verdict=verdict),)
    answer = Answer(question="Q?", method="m", status=status, text="A.", claims=claims)
    page = render_page(answer)
    assert told in page
    assert untold not in page


def test_page_names_models_and_day_without_addresses() -> None:
    told = [
        LLMCalled(role="writer", model="qwen at http://gpu/v1", prompt="", reply="", usage=Usage()),
        LLMCalled(role="judge", model="qwen at http://gpu/v1", prompt="", reply="", usage=Usage()),
        PairsScored(model="deberta", pairs=()),
        AnswerReady(answer=ANSWER, day=date(2026, 11, 3)),
    ]
    page = render_page(ANSWER, [Moment(at=0.0, event=event) for event in told])
    for line in ("Written by qwen", "Checked by deberta", "Answered on 3 November 2026"):
        assert f"<li>{line}</li>" in page


def test_first_scores_are_told_from_final_ones() -> None:
    told = [PairsScored(pairs=(("p", "c", 0.8),), quick=quick) for quick in (True, False)]
    step = [started("memory_verifier"), *told, finished("memory_verifier", Usage())]
    page = render_page(ANSWER, [Moment(at=0.0, event=event) for event in step])
    assert page.index("at first sight?") < page.index("Does this entail it?")
