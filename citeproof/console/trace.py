"""A run's events in a file, so that it can be shown long after: `citeproof trace`.

A trace is a file of JSON lines. The first tells of the run: its method, question and graph, and
the error if it ended in one. Each of the others is an event with its time:

    {"at": 0.412, "event": {"type": "node_started", "node": "claim_generator"}}

`at` counts seconds from the first event. The pieces of a claim that is being written are left
out, as the call's reply holds them all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from citeproof.console.drawing import shape
from citeproof.console.layers import Shape
from citeproof.console.page import refuse_place
from citeproof.errors import InputError
from citeproof.evaluation.examples import Example
from citeproof.evaluation.manifest import read_manifest
from citeproof.evaluation.results import Failure, Result, put, read_lines, told
from citeproof.paths import expanded, is_folder
from citeproof.tools.events import AnswerReady, ClaimDelta, Event, LLMCalled, PairsScored
from citeproof.types import Answer, Usage

__all__ = [
    "Trace",
    "find_trace",
    "place",
    "read_trace",
    "recorded",
    "recording",
    "render_trace",
    "replayed",
    "write_trace",
]

T = TypeVar("T", bound=BaseModel)
_KINDS = tuple(set(get_args(get_args(Event)[0])) - {ClaimDelta})


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Moment(_Line):
    at: float
    event: Event


class Trace(_Line):
    """A run that was kept."""

    version: Literal[1] = 1
    method: str
    question: str
    graph: Shape | None = None
    """None where it is not known."""
    error: Failure | None = None
    """What the run ended in, if not in an answer."""
    events: tuple[tuple[float, Event], ...] = ()
    """Each with its time in seconds, in order."""

    @property
    def answer(self) -> Answer | None:
        """What the run gave; None where it was broken off."""
        given = (event.answer for _, event in self.events[::-1] if isinstance(event, AnswerReady))
        return next(given, None)

    @property
    def outcome(self) -> Answer:
        """The answer, or one that says why there is none."""
        why = "The run was broken off."
        if self.error is not None:
            told = ": ".join(filter(None, [self.error.type, self.error.message]))
            why = f"The run ended in an error: {told}"
        return self.answer or Answer(
            question=self.question,
            method=self.method,
            status="abstained",
            reason=why,
            usage=self._spent(),
        )

    def _spent(self) -> Usage:
        """What a run without an answer has cost, as far as its events tell."""
        told = [event for _, event in self.events]
        calls = sum((event.usage for event in told if isinstance(event, LLMCalled)), Usage())
        pairs = sum(len(event.pairs) for event in told if isinstance(event, PairsScored))
        took = self.events[-1][0] if self.events else 0.0
        return calls.model_copy(update={"nli_pairs": pairs, "seconds": took})


def recorded(
    graph: Any,
    method: str,
    result: Result,
    events: Sequence[tuple[float, object]],
) -> Trace:
    """The trace of a run.

    Args:
        graph: The compiled graph.
        method: Its name.
        result: What was asked, and what the run gave or ended in.
        events: The custom stream, each part with its time in seconds on any clock. What is no
            event of ours is left out.
    """
    zero = events[0][0] if events else 0.0
    own = [(round(at - zero, 4), event) for at, event in events if isinstance(event, _KINDS)]
    if result.answer is not None:
        ready = AnswerReady(answer=result.answer)
        if not own or own[-1][1] != ready:  # a graph of somebody else's tells no end
            own.append((own[-1][0] if own else 0.0, ready))
    return Trace(
        method=method,
        question=result.question,
        graph=shape(graph),
        error=result.error,
        events=tuple(own),
    )


@contextmanager
def recording(
    path: Path | None, graph: Any, method: str, question: str, events: Sequence[tuple[float, Event]]
) -> Iterator[None]:
    """Write the trace of the run that goes on inside, also if it ends in an error.

    Args:
        path: The file; None writes nothing.
        graph: The compiled graph.
        method: Its name.
        question: What is asked.
        events: Filled inside.

    Raises:
        InputError: The file cannot be written.
    """
    if path is None:
        yield
        return
    path = expanded(path)
    refuse_place(path)
    result = Result(id="", question=question)
    try:
        yield
    except BaseException as raised:
        result = result.model_copy(update={"error": Failure.of(raised)})
        raise
    finally:
        write_trace(path, recorded(graph, method, result, events))


def write_trace(path: Path, trace: Trace) -> None:
    """Put a trace into a file, whole or not at all.

    Raises:
        InputError: The file cannot be written.
    """
    put(path, _lines(trace))


def _lines(trace: Trace) -> Iterator[str]:
    yield f"{trace.model_dump_json(exclude={'events'})}\n"
    for at, event in trace.events:
        yield f"{_Moment(at=at, event=event).model_dump_json()}\n"


def read_trace(path: Path) -> Trace:
    """The trace in a file.

    Raises:
        InputError: The file cannot be read, is no trace, or holds no event.
    """
    with told(path, "read"):
        first, *others = path.read_bytes().splitlines() or [b""]
    trace = _read(Trace, path, 1, first)
    moments = [_read(_Moment, path, n, line) for n, line in enumerate(others, start=2)]
    if not moments:
        raise InputError(
            f"{path} shows nothing",
            why="the run told no event",
            fix="Only graphs whose nodes are citeproof's do.",
        )
    events = tuple((moment.at, moment.event) for moment in moments)
    return Trace(**dict(trace) | {"events": events})


def find_trace(run: Path, example: str | None) -> Path:
    """The file of a trace.

    Args:
        run: That file, or the folder of a run of `citeproof eval --trace`.
        example: In a folder, whose: its id, or its number from 1. None where there is only one.

    Raises:
        InputError: There is no such run, example or trace.
    """
    run = expanded(run)
    if not is_folder(run):
        if example is not None:
            raise InputError(
                f"{run} is no folder of a run", fix=f"Leave {example!r} out, or name such a folder."
            )
        return run
    if read_manifest(run) is None:
        raise InputError(
            f"{run} is no run",
            why="there is no manifest.json",
            fix="Name the folder of `citeproof eval --out`, or a file of `citeproof ask --events`.",
        )
    ids = [own.id for own in read_lines(run / "examples.jsonl", Example)]
    there = [n for n in range(1, len(ids) + 1) if place(run, n).exists()]
    if not there:
        raise InputError(
            f"{run} kept no events", fix="Run citeproof eval with --trace, in a new folder."
        )
    number = there[0] if example is None and len(there) == 1 else _number(run, ids, there, example)
    if number not in there:
        raise InputError(
            f"{run} kept no events of example {number}, {ids[number - 1]!r}",
            why="it was answered without --trace, or not yet",
            fix=f"Kept: {_listed(ids, there)}.",
        )
    return place(run, number)


def place(run: Path, number: int) -> Path:
    """Where a run keeps the trace of an example, which is numbered from 1.

    By number, since an id may be no file's name.
    """
    return run / "traces" / f"{number}.jsonl"


def _number(run: Path, ids: Sequence[str], there: Sequence[int], example: str | None) -> int:
    if example is None:
        raise InputError(f"{run} has several traces", fix=f"Name one of {_listed(ids, there)}.")
    if example in ids:
        return ids.index(example) + 1
    if example.isdecimal() and 1 <= int(example) <= len(ids):
        return int(example)
    raise InputError(
        f"{run} has no example {example!r}",
        fix=f"Name an id, or a number from 1 to {len(ids)}; kept: {_listed(ids, there)}.",
    )


def _listed(ids: Sequence[str], numbers: Sequence[int], most: int = 8) -> str:
    shown = [f"{number} ({ids[number - 1]})" for number in numbers[:most]]
    return ", ".join([*shown, *(["…"] if len(numbers) > most else [])])


def render_trace(trace: Trace) -> str:
    """The page of a trace: that of its answer, with the trace unfolded."""
    from citeproof.console.page import render_page

    broken = trace.answer is None
    return render_page(trace.outcome, trace.events, trace.graph, traced=True, broken=broken)


async def replayed(trace: Trace) -> AsyncIterator[Event]:
    """The events of a trace, as fast as they are taken; the last tells the outcome."""
    for _, event in trace.events:
        yield event
    if trace.answer is None:
        yield AnswerReady(answer=trace.outcome)


def _read(kind: type[T], path: Path, number: int, line: bytes) -> T:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{path}, line {number}, is no part of a trace",
            why=f"{where}: {first['msg']}".removeprefix(": "),
            fix="Name a file of `citeproof ask --events` or `citeproof eval --trace`.",
        ) from error
