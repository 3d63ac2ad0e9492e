"""Answers and checked texts as self-contained HTML files: hover a claim to see its support."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

from citeproof.console import text
from citeproof.console.check import (
    LOOK,
    count_verdicts,
    describe_recall,
    describe_verdict,
    is_complete,
)
from citeproof.console.timeline import timeline
from citeproof.evaluation.traces import Trace
from citeproof.graphs.shape import Shape
from citeproof.pages import render
from citeproof.pages.pictures import Picture, Pictures, View
from citeproof.runtime.events import AnswerReady, LLMCalled, PairsScored
from citeproof.runtime.moments import Moment
from citeproof.text import count
from citeproof.types import Answer, CheckReport, Citation, Passage, QuotedPassage

K = TypeVar("K", bound=Hashable)


class Look(NamedTuple):
    """How a page shows a verdict."""

    sign: str
    label: str
    """Name in the legend."""
    spoken: str
    """Meaning of the sign, for screen readers."""
    meaning: str


class Source(NamedTuple):
    """A passage in the list of sources below the text."""

    place: int
    """Position in the list, from 1."""
    passage: Passage
    quoted: Sequence[str]
    """Sentences of the passage that support claims."""
    opposing: Sequence[str]
    """Sentences of the passage that contradict claims."""
    users: Sequence[int]
    """Numbers of the claims that cite it."""
    denied: Sequence[int]
    """Numbers of the claims that it contradicts."""
    view: View | None = None
    """Picture of the document's page."""
    number: str | None = None
    """Number to show if it differs from the position."""


_LOOKS = {
    "supported": Look("✓", "Proved", "Proved", "the passages that it cites entail it"),
    "contradicted": Look(
        "✗", "Contradicted", "Contradicted", "no passage entails it, and one says otherwise"
    ),
    "unsupported": Look(
        "!", "Not proved", "Not proved", "what it was checked against does not entail it"
    ),
    "unchecked": Look("?", "Not checked", "Not checked", "no verifier has looked at it"),
}
_CHECKED = {
    verdict: Look(sign, verdict, words, words) for verdict, (sign, _, words) in LOOK.items()
}
_ADDRESS = re.compile(r" at https?://[^\s,]+")
_STATUS = {"answered": "Answered", "partial": "Answered in part", "not_found": "No answer"}


def render_page(answer: Answer, moments: Sequence[Moment] = (), graph: Shape | None = None) -> str:
    """Render the page of an answer.

    The file loads nothing and sends nothing: its policy allows only its own style and script,
    by their hashes, and the pictures in it. Every text of the run is escaped.

    Args:
        answer: The answer to show.
        moments: Without them the page has no trace.
        graph: The graph that ran; by default what the moments show of it.
    """
    return _render_alone(_answer_values(answer, moments, graph))


def render_trace(trace: Trace) -> str:
    """Render the page of a trace: its answer, or why it has none, with the trace unfolded."""
    values = _answer_values(trace.outcome, trace.moments, trace.graph) | {"traced": True}
    if trace.answer is None:
        values |= {"broken": True, "standing_words": "Broken off"}
    return _render_alone(values)


def _render_alone(values: Mapping[str, Any]) -> str:
    style = f".graph {{{render.asset('graph.css')}}}"
    return render.render_page("answer.html", style, **values)


def render_turn(
    answer: Answer, shown: Answer, moments: Sequence[Moment], graph: Shape | None
) -> str:
    """Render an answer as a part of the server's page, with its cost folded.

    `shown` is the same answer with links instead of the file paths that pictures are drawn from.
    """
    values = _answer_values(answer, moments, graph)
    linked = {passage.id: passage for passage in shown.passages}
    found = [source._replace(passage=linked[source.passage.id]) for source in values["found"]]
    values |= {"answer": shown, "found": found}
    return render.fragment("answer.html", **values, frame="turn.html")


def _answer_values(
    answer: Answer, moments: Sequence[Moment], graph: Shape | None
) -> dict[str, Any]:
    """Return the values for the template of an answer."""
    verdicts = [claim.verdict.status for claim in answer.claims]
    claims = list(enumerate(answer.claims, start=1))
    uses = [(own.number, n, own) for n, claim in claims for own in claim.citations]
    denials = [(own.number, n, own) for n, claim in claims for own in claim.against]
    numbered = dict(enumerate(answer.passages, start=1))
    found, pictures = _sources(numbered, uses, denials)
    words = _STATUS[answer.status]
    if answer.status == "answered" and {*verdicts} <= {"supported"}:
        words += ", every claim proved"  # CaLM leaves answers unchecked if its models agree
    return {
        "title": answer.question,
        "kind": answer.method,
        "reason": answer.reason,
        "answer": answer,
        "broken": False,
        "traced": False,
        "standing_words": words,
        "proved": text.describe_proved(answer),
        "verdicts": verdicts,
        "looks": _LOOKS,
        "found": found,
        "pictures": pictures,
        "cost": text.describe_usage(answer.usage),
        "making": _making(moments),
        "facts": text.describe_call,
        "trace": timeline(moments, graph),
    }


def _making(moments: Sequence[Moment]) -> list[str]:
    """Return the day and the models of an answer, without server addresses."""
    made: dict[str, list[str]] = {"Answered on": [], "Written by": [], "Checked by": []}
    for moment in moments:
        match moment.event:
            case LLMCalled(model=model):
                made["Written by"].append(model)
            case PairsScored(model=model):
                made["Checked by"].append(model)
            case AnswerReady(day=day) if day and not moment.namespace:
                made["Answered on"].append(f"{day.day} {day:%B %Y}")
    told = ((how, ", ".join(filter(None, dict.fromkeys(names)))) for how, names in made.items())
    return [f"{how} {_ADDRESS.sub('', names)}" for how, names in told if names]


def render_check(report: CheckReport, title: str) -> str:
    """Render the page of a checked text.

    As with an answer, the file loads nothing and sends nothing, and every text is escaped.
    """
    status, words = "partial", "Not proved"
    if report.citation_recall is None:
        status, words = "not_found", "Nothing to check"
    elif is_complete(report):
        status, words = "answered", "Every sentence supported"
    numbered = list(enumerate(report.sentences, start=1))
    uses = [(own.passage.id, n, own) for n, sentence in numbered for own in sentence.support]
    denials = [(own.passage.id, n, own) for n, sentence in numbered for own in sentence.against]
    first = {key: own for key, _, own in reversed(uses + denials)}
    ordered = {key: first[key].passage for key, *_ in uses + denials}
    sources, pictures = _sources(ordered, uses, denials)
    found = [
        source._replace(number=str(first[source.passage.id].number or "–")) for source in sources
    ]
    return render.render_page(
        "check.html",
        render.asset("check.css"),
        title=title,
        kind="check",
        reason=count_verdicts(report),
        report=report,
        status=status,
        standing_words=words,
        recalled=describe_recall(report),
        verdicts=[sentence.verdict for sentence in report.sentences],
        paragraphs=[list(group) for _, group in groupby(numbered, lambda own: own[1].paragraph)],
        looks=_CHECKED,
        explained=describe_verdict,
        found=found,
        pictures=pictures,
        places={source.passage.id: source.place for source in found},
        facts=[
            count(len(report.sentences), "sentence"),
            f"entailment by {report.model}",
            f"threshold {report.threshold:.2f}",
        ],
    )


def _sources(
    found: Mapping[K, Passage],
    uses: Sequence[tuple[K, int, Citation | QuotedPassage]],
    denials: Sequence[tuple[K, int, Citation | QuotedPassage]],
) -> tuple[list[Source], list[Picture]]:
    """Return the sources, with what they say on each claim, and the pictures of their pages."""
    quoted = [(key, own) for key, _, own in (*uses, *denials) if key in found]
    pictures = Pictures((found[key], own) for key, own in quoted)
    sources = [
        Source(
            place,
            passage,
            quoted=[own.sentence for user, _, own in uses if user == key],
            opposing=[own.sentence for user, _, own in denials if user == key],
            users=[n for user, n, _ in uses if user == key],
            denied=[n for user, n, _ in denials if user == key],
            view=pictures.view(passage),
        )
        for place, (key, passage) in enumerate(found.items(), start=1)
    ]
    return sources, pictures.drawn
