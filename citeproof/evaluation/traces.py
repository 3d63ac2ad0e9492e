"""Saves runs to files, which `citeproof trace` can show later.

A trace is a file of JSON lines. The first line describes the run: its method, question and graph,
and the error if it ended in one. Each of the other lines is a moment:

    {"at": 0.412, "namespace": [], "event": {"type": "node_started", "id": "3f0c…", …}}

`at` counts seconds from the first moment. The pieces of a claim being written are left out,
because the call's reply contains them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from citeproof.errors import InputError
from citeproof.evaluation.examples import Example
from citeproof.evaluation.manifest import require_manifest
from citeproof.evaluation.results import Failure, Result, read_lines
from citeproof.files import parse, read_file, refuse_place, write_whole
from citeproof.graphs.shape import Shape, read_shape
from citeproof.paths import expand, is_folder
from citeproof.runtime.events import AnswerReady, ClaimDelta, LLMCalled, PairsScored
from citeproof.runtime.moments import Moment
from citeproof.types import Answer, Usage

_MOST_LISTED = 8
_FIX = "Name a file of `citeproof ask --events` or `citeproof eval --trace`."


class Trace(BaseModel, frozen=True, extra="forbid"):
    """A saved run."""

    version: Literal[1] = 1
    method: str
    question: str
    graph: Shape | None = None
    """None if it is unknown."""
    error: Failure | None = None
    """The error that ended the run, if there is no answer."""
    moments: tuple[Moment, ...] = ()

    @property
    def answer(self) -> Answer | None:
        """The answer of the run; None if it was interrupted or failed."""
        for moment in reversed(self.moments):
            if isinstance(moment.event, AnswerReady) and not moment.namespace:
                return moment.event.answer
        return None

    @property
    def outcome(self) -> Answer:
        """The answer, or one that says why there is none."""
        why = "The run was interrupted."
        if self.error is not None:
            told = ": ".join(filter(None, [self.error.type, self.error.message]))
            why = f"The run ended in an error: {told}"
        return self.answer or Answer(
            question=self.question,
            method=self.method,
            status="not_found",
            reason=why,
            usage=self._spent(),
        )

    def _spent(self) -> Usage:
        """Return the cost of a run without an answer, as far as its moments show."""
        told = [moment.event for moment in self.moments]
        calls = sum((event.usage for event in told if isinstance(event, LLMCalled)), Usage())
        pairs = sum(len(event.pairs) for event in told if isinstance(event, PairsScored))
        took = self.moments[-1].at if self.moments else 0.0
        return calls.model_copy(update={"nli_pairs": pairs, "seconds": took})


def make_trace(graph: Any, method: str, result: Result, moments: Sequence[Moment]) -> Trace:
    """Return the trace of a run."""
    zero = moments[0].at if moments else 0.0
    own = [
        moment.model_copy(update={"at": round(moment.at - zero, 9)})
        for moment in moments
        if not isinstance(moment.event, ClaimDelta)
    ]
    trace = Trace(
        method=method,
        question=result.question,
        graph=read_shape(graph),
        error=result.error,
        moments=tuple(own),
    )
    if result.answer in (None, trace.answer):
        return trace
    # A user's own graph has no event for the answer.
    ready = Moment(at=own[-1].at if own else 0.0, event=AnswerReady(answer=result.answer))
    return trace.model_copy(update={"moments": (*own, ready)})


@contextmanager
def record(
    path: Path | None, graph: Any, method: str, question: str, moments: Sequence[Moment]
) -> Iterator[None]:
    """Write a trace of the run in the `with` block, also if it ends in an error.

    The block fills `moments`. Without a path nothing is written.
    """
    if path is None:
        yield
        return
    path = expand(path)
    refuse_place(path)
    result = Result(id="", question=question)
    try:
        yield
    except BaseException as raised:
        result = result.model_copy(update={"error": Failure.of(raised)})
        raise
    finally:
        write_trace(path, make_trace(graph, method, result, moments))


def write_trace(path: Path, trace: Trace) -> None:
    """Write a trace to a file, either completely or not at all."""
    first = trace.model_dump_json(exclude={"moments"})
    others = (moment.model_dump_json() for moment in trace.moments)
    write_whole(path, (f"{line}\n" for line in (first, *others)))


def read_trace(path: Path) -> Trace:
    """Read the trace in a file, which must have moments."""
    first, *others = read_file(path).splitlines() or [b""]
    trace = parse(Trace, first, f"{path}, line 1, is no part of a trace", _FIX)
    moments = [
        parse(Moment, line, f"{path}, line {n}, is no part of a trace", _FIX)
        for n, line in enumerate(others, start=2)
    ]
    if not moments:
        raise InputError(f"{path} shows nothing", why="nothing happened in the run")
    return trace.model_copy(update={"moments": tuple(moments)})


def find_trace(run: Path, example: str | None) -> Path:
    """Return the path of a trace.

    Args:
        run: The file itself, or the folder of a run of `citeproof eval --trace`.
        example: In a folder, the example's id, or its number from 1. May be None if there is only
            one trace.
    """
    run = expand(run)
    if not is_folder(run):
        if example is not None:
            raise InputError(
                f"{run} is not the folder of a run",
                fix=f"Leave {example!r} out, or name such a folder.",
            )
        return run
    require_manifest(run, ", or a file of `citeproof ask --events`")
    ids = dict(enumerate((own.id for own in read_lines(run / "examples.jsonl", Example)), start=1))
    kept = {n: own for n, own in ids.items() if trace_path(run, n).exists()}
    if not kept:
        fix = "Run citeproof eval with --trace, in a new folder."
        raise InputError(f"{run} kept no events", fix=fix)
    listed = ", ".join(f"{n} ({own})" for n, own in [*kept.items()][:_MOST_LISTED])
    fix = f"Name one of {listed}{', …' if len(kept) > _MOST_LISTED else ''}."
    if example is None:
        if len(kept) > 1:
            raise InputError(f"{run} has several traces", fix=fix)
        return trace_path(run, *kept)
    # An id goes before a number, also if its own trace is missing.
    numbers = {str(n): n for n in ids} | {own: n for n, own in ids.items()}
    if (number := numbers.get(example)) not in kept:
        why = "there is no such example, or no answer with --trace yet"
        raise InputError(f"{run} kept no events of {example!r}", why=why, fix=fix)
    return trace_path(run, number)


def trace_path(run: Path, number: int) -> Path:
    """Return the path of an example's trace in a run's folder; examples are numbered from 1.

    The file name is the number, because an id need not be a valid file name.
    """
    return run / "traces" / f"{number}.jsonl"


async def replay(trace: Trace) -> AsyncGenerator[Moment]:
    """Yield the moments of a trace without delays; one of them has the outcome."""
    for moment in trace.moments:
        yield moment
    if trace.answer is None:
        yield Moment(at=0.0, event=AnswerReady(answer=trace.outcome))
