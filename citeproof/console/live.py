"""Shows a run live: claims appear while they are written, then get their verdict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.spinner import Spinner
from rich.text import Text

from citeproof.console.output import write_line, write_signed
from citeproof.console.text import (
    cited_sentences,
    describe_proved,
    describe_tokens,
    describe_usage,
)
from citeproof.errors import CiteproofError
from citeproof.runtime import events
from citeproof.runtime.moments import Moment, NodeFinished, NodeStarted
from citeproof.text import count, find, plain, seconds, shorten
from citeproof.types import Answer, Claim, Passage

_LOOK = {
    "supported": ("✓", "green", ""),
    "contradicted": ("✗", "red", "contradicted"),
    "unsupported": ("!", "yellow", "unverified"),
    "unchecked": ("?", "yellow", "unchecked"),
}
"""Verdict → sign, colour, and words for where there is no colour."""
_AROUND = 60
"""Characters of context on each side of a quoted sentence."""


async def follow(
    moments: AsyncGenerator[Moment],
    console: Console,
    *,
    question: str = "",
    trace: bool = False,
    into: list[Moment] | None = None,
) -> Answer:
    """Print a run live and return its answer; an interruption ends the run before it propagates.

    A terminal shows the current claim as it changes; other outputs get only finished lines. With
    `trace`, each node is printed too. The moments are appended to `into`.
    """
    view = _View(console, trace)
    if question:
        write_line(console, question, "bold")
        console.print()
    live = Live(
        console=console, transient=True, auto_refresh=console.is_terminal, refresh_per_second=10
    )
    with live:
        async with aclosing(moments):
            async for moment in moments:
                if into is not None:
                    into.append(moment)
                view.take(moment)
                view.draw(live, moment)
                # Otherwise a graph whose nodes never await would delay Ctrl-C.
                await asyncio.sleep(0)
        live.update("")
    if view.answer is None:
        raise CiteproofError(
            "The run ended without an answer",
            fix="This is a bug of the graph: its last node must compose an answer.",
        )
    view.settle(view.answer)
    return view.answer


def conclude(answer: Answer, console: Console) -> None:
    """Print what follows an answer: reason, sources, notes, cost."""
    if answer.reason:
        console.print()
        write_line(console, answer.reason, "yellow")
    if answer.passages:
        console.print()
        write_line(console, "Sources", "bold")
    for number, passage in enumerate(answer.passages, start=1):
        write_line(console, Text.assemble((f"[{number}] ", "cyan"), (passage.place, "bold")))
        if passage.source and plain(passage.source) != passage.place:
            write_line(console, passage.source, "dim", indent=4)
        for sentence in cited_sentences(answer, passage.id):
            _write_quoted(console, passage, sentence)
    for number, claim in enumerate(answer.claims, start=1):
        for citation in claim.against:
            told = f"[{citation.number}] says otherwise about claim {number}"
            write_line(console, Text.assemble((told, "red"), f": “{plain(citation.sentence)}”"))
    if answer.nearest:
        console.print()
        write_line(console, "What came nearest", "bold")
    for near in answer.nearest:
        write_line(console, Text.assemble("- ", (near.passage.place, "bold")))
        if near.sentence:
            _write_quoted(console, near.passage, plain(near.sentence))
        else:
            write_line(console, f"“{plain(near.passage.text)}”", "dim", indent=4)
    if answer.notes:
        console.print()
        write_line(console, "Notes", "bold")
        for note in answer.notes:
            write_line(console, f"- {note}", "dim")
    console.print()
    proved = f" · {describe_proved(answer)}" if answer.claims else ""
    standing = answer.status.replace("_", " ") + proved
    colour = {"answered": "green", "partial": "yellow", "not_found": "red"}[answer.status]
    cost = "".join(f" · {part}" for part in describe_usage(answer.usage))
    write_line(console, Text.assemble((standing, colour), (cost, "dim")))


@dataclass
class _View:
    console: Console
    trace: bool
    doing: str = ""
    waiting: str = ""
    """What to show while the run waits for a server that did not answer."""
    writing: str = ""
    drafted: bool = False
    numbers: dict[str, int] = field(default_factory=dict)
    """Passage id → number in order of first use, as in the finished answer."""
    shown: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    started: dict[str, tuple[float, dict[str, str]]] = field(default_factory=dict)
    """Task id → start time, and what the node read."""
    answer: Answer | None = None
    spinner: Spinner = field(default_factory=lambda: Spinner("dots", style="cyan"))

    def take(self, moment: Moment) -> None:
        self.waiting = ""
        match event := moment.event:
            case events.LLMWaiting():
                again = f"try {event.attempt} of {event.attempts}"
                self.waiting = f"waiting {event.seconds:.0f} s for the server, {again}"
                if self.trace or not self.console.is_terminal:
                    self._aside(f"{self.waiting}: {plain(event.why)}")
            case NodeStarted():
                self.started[event.id] = (moment.at, event.reads)
                self.doing = f"{_path(moment).replace('_', ' ')}…"
                if not self.drafted:  # the text written so far is not a claim
                    self.writing = ""
            case NodeFinished():
                if self.trace:
                    self._node(moment, event)
            case events.QuestionRewritten():
                self._aside(f"asking: {plain(event.question)}")
            case events.ClaimDelta():
                self.writing = event.text if self.drafted else self.writing + event.text
                self.drafted = False
            case events.ClaimDrafted():
                self.writing, self.drafted = event.text, True
            case events.ClaimVerified():
                if event.verdict.failed:
                    self.doing = "not supported by its citations; looking further…"
            case events.ClaimRejected():
                self._print_rejected(event)
                self.writing, self.drafted = "", False
            case events.ClaimAccepted():
                self._claim(event.claim, self._numbers(event.claim))
                self.writing, self.drafted = "", False
            case events.PassagesRetrieved() if self.trace:
                self._aside(f"found {count(len(event.passages), 'passage')}")
            case events.EvidenceFound() if self.trace:
                queries = "; ".join(f"“{plain(query)}”" for query in event.queries)
                self._aside(f"found {count(len(event.passages), 'more passage')} for {queries}")
            case events.AnswerReady() if not moment.namespace:  # not that of an inner graph
                self.answer = event.answer
            case _:
                pass

    def draw(self, live: Live, moment: Moment) -> None:
        """Show the current claim and what is being done with it, if there is a terminal."""
        if isinstance(moment.event, events.ReviewRequested):
            # A live display would overwrite the prompt that follows.
            live.update("", refresh=True)
            live.stop()
        elif self.console.is_terminal and (
            live.is_started or isinstance(moment.event, NodeStarted)
        ):
            live.start()
            # Pieces of a claim arrive faster than the screen needs to be redrawn.
            live.update(self._current(), refresh=not isinstance(moment.event, events.ClaimDelta))

    def _current(self) -> RenderableType:
        parts: list[RenderableType] = []
        # A single word is not a claim yet, and may be the word by which the model says it is done.
        if self.drafted or " " in self.writing.strip():
            parts.append(Padding(Text(plain(self.writing), style="dim"), (0, 0, 0, 2)))
        if doing := self.waiting or self.doing:
            self.spinner.update(text=Text(doing, style="dim"))
            parts.append(self.spinner)
        return Group(*parts)

    def settle(self, answer: Answer) -> None:
        """Print the claims of the answer if they differ from those printed so far."""
        final = [
            (claim.text, tuple(citation.number for citation in claim.citations))
            for claim in answer.claims
        ]
        if final == self.shown:
            return
        if self.shown:
            self.console.print()
            write_line(self.console, "Answer", "bold")
        for claim, (_, numbers) in zip(answer.claims, final, strict=True):
            self._claim(claim, numbers)

    def _numbers(self, claim: Claim) -> tuple[int, ...]:
        for citation in claim.citations:
            self.numbers.setdefault(citation.passage_id, len(self.numbers) + 1)
        return tuple(sorted(self.numbers[citation.passage_id] for citation in claim.citations))

    def _claim(self, claim: Claim, numbers: tuple[int, ...]) -> None:
        self.shown.append((claim.text, numbers))
        sign, colour, words = _LOOK[claim.verdict.status]
        line = Text.assemble((plain(claim.text), colour))
        if numbers:
            line.append(" " + "".join(f"[{number}]" for number in numbers), style="cyan")
        if claim.verdict.failed and claim.verdict.reason:
            words = f"{words}, {plain(claim.verdict.reason)}"
        if words:
            line.append(f" ({words})", style=f"italic {colour}")
        write_signed(self.console, Text(sign, style=f"bold {colour}"), line)

    def _print_rejected(self, event: events.ClaimRejected) -> None:
        line = Text.assemble((plain(event.text), "red strike"))
        line.append(f" (rejected: {plain(event.reason)})", style="dim")
        write_signed(self.console, Text("✗", style="bold red"), line)

    def _node(self, ended: Moment, event: NodeFinished) -> None:
        began, reads = self.started.get(event.id, (ended.at, {}))
        parts = [_path(ended), seconds(ended.at - began), describe_tokens(event.usage), event.error]
        self._aside(" · ".join(plain(part) for part in parts if part))
        for verb, values in (("read", reads), ("wrote", event.writes)):
            for key, value in sorted(values.items()):
                if text := plain(value):
                    line = f"{verb} {key}: {shorten(text, 100)}"
                    write_line(self.console, line, "dim", indent=4)

    def _aside(self, text: str) -> None:
        write_line(self.console, f"· {text}", "cyan")


def _path(moment: Moment) -> str:
    """Return a node's name after those of the nodes around it: `searcher › answerer`."""
    assert isinstance(moment.event, NodeStarted | NodeFinished)
    outer = [place.partition(":")[0] for place in moment.namespace if ":" in place]
    return plain(" › ".join([*outer, moment.event.node]))


def _write_quoted(console: Console, passage: Passage, sentence: str) -> None:
    """Print a sentence of a passage; on a terminal with its context."""
    quoted = f"“{sentence}”"
    shown = _highlight(passage.text, sentence) if console.is_terminal else quoted
    write_line(console, shown, indent=4)


def _highlight(passage: str, sentence: str) -> Text:
    """Highlight a sentence between a few words of its context."""
    text = plain(passage)
    span = find(text, sentence)
    if span is None:
        return Text.assemble("“", (sentence, "reverse"), "”")
    start, end = span
    before, after = text[:start], text[end:]
    if len(before) > _AROUND:
        before = "…" + before[-_AROUND:].partition(" ")[2]
    if len(after) > _AROUND:
        after = after[:_AROUND].rpartition(" ")[0] + "…"
    return Text.assemble((before, "dim"), (text[start:end], "reverse"), (after, "dim"))
