"""The trace of a run in HTML: one row for each step, which unfolds into what happened there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from citeproof.console.markup import Markup, element, join
from citeproof.console.steps import Step, steps
from citeproof.console.text import count, seconds, tokens, where
from citeproof.tools.events import (
    ClaimAccepted,
    ClaimDrafted,
    ClaimRejected,
    ClaimVerified,
    Event,
    EvidenceFound,
    LLMCalled,
    PairsScored,
    PassagesRetrieved,
)
from citeproof.types import Passage

__all__ = ["timeline"]

_SHORTEST_FOLD = 200
"""Characters; a shorter common beginning is not worth folding."""


def timeline(events: Sequence[tuple[float, Event]]) -> Markup:
    """The trace; empty where no node has run."""
    found = steps(events)
    if not found:
        return Markup()
    length = max(step.ended for step in found) or 1.0
    calls = sum(isinstance(event, LLMCalled) for step in found for event in step.events)
    before = ""
    rows = []
    for step in found:
        row, before = _step(step, length, before)
        rows.append(row)
    return element(
        "details",
        element(
            "summary",
            element("h2", "How this answer was made"),
            element(
                "span",
                f"{count(len(found), 'step')} · {count(calls, 'LLM call')} · {seconds(length)}",
                class_="hint",
            ),
        ),
        element("ol", rows, class_="steps"),
        class_="trace",
        id="trace",
    )


def _step(step: Step, length: float, before: str) -> tuple[Markup, str]:
    """A row, and the prompt that was sent last."""
    inside = []
    for event in step.events:
        inside.append(_event(event, before))
        if isinstance(event, LLMCalled):
            before = event.prompt
    start, span = 100 * step.began / length, 100 * (step.ended - step.began) / length
    bar = element(
        "svg",
        element("rect", class_="lane", width="100%", height="100%"),
        element(
            "rect",
            class_="spent",
            x=f"{min(start, 99.3):.3f}%",
            width=f"{max(span, 0.7):.3f}%",
            height="100%",
        ),
        aria_hidden="true",
    )
    spent = step.usage.prompt_tokens + step.usage.completion_tokens
    row = element(
        "li",
        element(
            "details",
            element(
                "summary",
                element("span", step.node.replace("_", " "), class_="node"),
                bar,
                element("span", seconds(step.ended - step.began), class_="time"),
                element("span", count(spent, "token") if spent else "", class_="tokens"),
                _outcome(step),
            ),
            element(
                "div",
                _values("Read", step.reads),
                inside,
                _values("Wrote", step.writes),
                class_="inside",
            ),
        ),
    )
    return row, before


def _outcome(step: Step) -> Markup:
    """The step's result in a line, where it has one worth reading at a glance."""
    for event in reversed(step.events):
        match event:
            case ClaimRejected():
                return _result("rejected", "✗", event.text)
            case ClaimVerified():
                score = event.verdict.score
                shown = "" if score is None else f"{score:.2f} · "
                sign = {"supported": "✓", "unsupported": "!"}.get(event.verdict.status, "?")
                return _result(event.verdict.status, sign, shown + event.text)
            case ClaimDrafted():
                return _result("draft", "✎", event.text)
            case EvidenceFound():
                return _result("draft", "⌕", "; ".join(event.queries))
            case PassagesRetrieved():
                return _result("draft", "⌕", count(len(event.passages), "passage"))
            case ClaimAccepted():
                return _result(event.claim.verdict.status, "→", event.claim.text)
            case _:
                pass
    return Markup()


def _result(kind: str, sign: str, text: str) -> Markup:
    return element("span", element("b", sign), " ", text, class_=f"result {kind}")


def _event(event: Event, before: str) -> Markup:
    match event:
        case LLMCalled():
            return _call(event, before)
        case PairsScored():
            return join(_pair(*pair) for pair in event.pairs)
        case PassagesRetrieved():
            return _passages("Passages found", event.passages)
        case EvidenceFound():
            queries = element("ul", [element("li", query) for query in event.queries])
            return join([_part("Queries", queries), _passages("New passages", event.passages)])
        case ClaimDrafted():
            return _part(f"Draft, trial {event.trial}", element("p", event.text))
        case ClaimVerified():
            tier = {"cited": " by its citations", "memory": " by the memory"}
            title = f"Verdict: {event.verdict.status}{tier.get(event.verdict.tier or '', '')}"
            return _part(title, element("p", event.text))
        case ClaimRejected():
            return _part(f"Rejected: {event.reason}", element("p", element("s", event.text)))
        case ClaimAccepted():
            return _part("Accepted", element("p", event.claim.text))
        case _:
            return Markup()


def _call(call: LLMCalled, before: str) -> Markup:
    shared = _shared(before, call.prompt)
    prompt = element("pre", call.prompt[shared:])
    if shared:
        prompt = join(
            [
                element(
                    "details",
                    element(
                        "summary",
                        f"the same {shared:,} characters as in the prompt before",
                    ),
                    element("pre", call.prompt[:shared]),
                    class_="shared",
                ),
                prompt,
            ]
        )
    took = seconds(call.usage.seconds) if call.usage.seconds else ""
    facts = " · ".join(part for part in (tokens(call.usage), took) if part)
    return join(
        [
            _part(f"Prompt ({call.role.replace('_', ' ')})", prompt, facts),
            _part("Reply", element("pre", call.reply or "(empty)")),
        ]
    )


def _shared(before: str, prompt: str) -> int:
    """Length of the common beginning of two prompts, cut after its last line."""
    same = 0
    for mine, other in zip(before, prompt, strict=False):
        if mine != other:
            break
        same += 1
    end = prompt.rfind("\n", 0, same) + 1
    return end if end >= _SHORTEST_FOLD else 0


def _pair(premise: str, hypothesis: str, score: float) -> Markup:
    return _part(
        "Does this entail it?",
        join(
            [
                element("blockquote", premise),
                element("p", "⊢ ", hypothesis, class_="hypothesis"),
            ]
        ),
        f"score {score:.2f}",
    )


def _passages(title: str, passages: Sequence[Passage]) -> Markup:
    if not passages:
        return _part(title, element("p", "none"))
    items = [
        element("details", element("summary", where(passage)), element("blockquote", passage.text))
        for passage in passages
    ]
    return _part(title, join(items))


def _values(title: str, values: Mapping[str, str]) -> Markup:
    told = sorted((key, value) for key, value in values.items() if value)
    if not told:
        return Markup()
    rows = [join([element("dt", key), element("dd", value)]) for key, value in told]
    return _part(title, element("dl", rows))


def _part(title: str, body: Markup, facts: str = "") -> Markup:
    hint = element("span", facts, class_="hint") if facts else ""
    return element("section", element("h3", title, " ", hint), body, class_="part")
