"""Asks a method many questions at once, and keeps each answer as soon as it is there.

A run's folder holds `manifest.json`, `examples.jsonl` (what is asked), `results.jsonl` (a line for
each finished example, on disk before the next one is told of), `traces/` if asked for, and, once
all are answered, `alce.json`, which ALCE's public evaluator reads. A run that was stopped, however
hard, goes on where it was; what it had finished is not asked again.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from filelock import FileLock, Timeout
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from citeproof.errors import InputError, ModelOutageError
from citeproof.evaluation.corpus import nothing_new
from citeproof.evaluation.examples import Example
from citeproof.evaluation.manifest import (
    Data,
    Manifest,
    Sitting,
    Totals,
    begin_sitting,
    current_time,
    describe_changes,
    hash_prompts,
    read_manifest,
    require_manifest,
)
from citeproof.evaluation.results import (
    Failure,
    Result,
    append,
    digest,
    lines_of,
    read_results,
    write_results,
)
from citeproof.evaluation.runs import write_outputs
from citeproof.evaluation.traces import Trace, make_trace, trace_path, write_trace
from citeproof.files import file_errors, write_whole
from citeproof.memory.bank import Bank
from citeproof.runtime.events import EvidenceFound, PassagesRetrieved
from citeproof.runtime.gather import together
from citeproof.runtime.moments import Moment, observe
from citeproof.tools.citations.marks import strip_flags
from citeproof.tools.entailment import OUTAGE
from citeproof.tools.retrieval.hybrid import BY_WORDS
from citeproof.types import Usage

__all__ = ["Answered", "Answerer", "Told", "answer", "describe", "run"]

Told = Callable[[Example, Result, bool], Awaitable[None]]
"""Called with each result, and whether an earlier sitting left it."""


class Answered(NamedTuple):
    """The outcome of an example."""

    result: Result
    trace: Trace | None = None
    """None where none was asked for."""


@runtime_checkable
class Answerer(Protocol):
    """Answers by a graph that is open elsewhere; `evaluation.on_ray` makes one."""

    parameters: dict[str, Any]
    """All of the method's."""
    cases: int | None
    """In the memory bank at the start; None where the method reads none."""

    async def answer(self, method: str, example: Example, *, trace: bool) -> Answered:
        """Answer an example; an error of the example is part of the result."""


_TOLD = ("answer", "ledger", "question", "messages")
"""Fields of a result that stand elsewhere in a line of the results."""


def describe(graph: Any, method: str, examples: Sequence[Example], **known: Any) -> Manifest:
    """The manifest of a run that is still to be made.

    `known` are further fields of the manifest, and of its `data`.
    """
    data = {key: known.pop(key) for key in Data.model_fields.keys() & known.keys()}
    parameters, chosen = parameters_of(graph), digest(lines_of(examples))
    return Manifest(
        method=method,
        parameters=parameters,
        data=Data(**data, examples=len(examples), chosen=chosen),
        **{"prompts": hash_prompts(), **known},
    )


async def _tell_nobody(example: Example, result: Result, kept: bool) -> None:
    """Results that nobody watches."""


async def run(
    graph: Any,
    method: str,
    examples: Sequence[Example],
    folder: Path,
    *,
    about: Mapping[str, Any] | None = None,
    at_once: int = 8,
    resume: bool = False,
    bank: Bank | None = None,
    trace: bool = False,
    on_result: Told = _tell_nobody,
) -> Manifest:
    """Answer examples, and keep the answers in a folder.

    Examples that bring documents are answered from these, all of which the graph may search; the
    others from the graph's retriever. An error of one example is kept in place of its answer, and
    the example is asked again when the run is gone on with.

    Args:
        graph: The compiled graph of the method, or an `Answerer`.
        method: Its name, for the manifest.
        examples: Their ids differ.
        folder: The run's; made if it is not there.
        about: Further fields of the manifest: `settings`, `models`, and fields of its `data`.
        at_once: Most examples in work at a time.
        resume: Go on with a run that the folder holds; it must be of the same configuration.
        bank: The memory bank, whose size is noted if the method reads it.
        trace: Also keep what happens with each example, which is on disk before its result is.
        on_result: Told of each result, first of those that an earlier sitting left.

    Returns:
        The run's manifest, with totals.

    Raises:
        InputError: The folder cannot be used, holds another run, or is in use.
    """
    _refuse_twins(examples)
    manifest = await asyncio.to_thread(describe, graph, method, examples, **dict(about or {}))
    bank = read_bank(bank, manifest.parameters)
    cases = graph.cases if isinstance(graph, Answerer) else await _size(bank)
    async with _open_folder(folder, manifest, examples, at_once, resume, cases) as results:
        kept = {key: result for key, result in results.items() if result.error is None}
        waiting = [example for example in examples if example.id not in kept]
        for example in examples:
            if example.id in kept:
                await on_result(example, kept[example.id], True)
        places = {own.id: trace_path(folder, n) for n, own in enumerate(examples, start=1)}

        async def work(example: Example) -> None:
            if isinstance(graph, Answerer):
                result, record = await graph.answer(method, example, trace=trace)
            else:
                result, record = await answer(graph, method, example, bank=bank, trace=trace)
            # Not in a thread: a cancelled run would leave it behind, still writing.
            path = places[example.id]
            with file_errors(path):
                path.unlink(missing_ok=True)  # that of an earlier attempt
                if record is not None:
                    path.parent.mkdir(exist_ok=True)
                    write_trace(path, record)
            append(folder / "results.jsonl", result)
            results[example.id] = result
            await on_result(example, result, False)

        await together([partial(work, example) for example in waiting], at_once)
        ordered = [results[example.id] for example in examples]
        await asyncio.to_thread(finish, folder, examples, ordered)
    return require_manifest(folder)


async def answer(
    graph: Any, method: str, example: Example, *, bank: Bank | None = None, trace: bool = False
) -> Answered:
    """Answer an example by a compiled graph; an error of the example is part of the result.

    Of `bank`, the part that the method reads, the size is noted.
    """
    asked: dict[str, Any] = {"question": example.question}
    if example.documents:
        asked["documents"] = list(example.documents)
    size = await _size(bank)
    retrieved: dict[str, None] = {}
    final: dict[str, Any] = {}
    begun = time.perf_counter()
    moments: list[Moment] = []
    fields: dict[str, Any]
    try:
        async for namespace, mode, part in graph.astream(
            asked,
            stream_mode=["values", "custom", "tasks"],
            output_keys=graph.output_channels,
            subgraphs=True,
        ):
            if mode == "values" and not namespace:
                final = part
            if isinstance(part, PassagesRetrieved | EvidenceFound):
                retrieved |= dict.fromkeys(passage.id for passage in part.passages)
            if moment := observe(namespace, mode, part):
                moments.append(moment)
        said = final["answer"]
        lost = any(claim.verdict.reason == OUTAGE for claim in said.claims)
        if lost or any(note.startswith(BY_WORDS) for note in said.notes):
            why = " ".join(said.notes)
            raise ModelOutageError("A model's server did not answer", why=why)
        fields = {
            # The flags are for readers; a metric would take them for words of the answer.
            "output": strip_flags(said.text),
            "docs": said.passages,
            "answer": said,
            "details": to_jsonable_python(
                {k: v for k, v in final.items() if k not in _TOLD}, fallback=str
            ),
        }
    except Exception as error:  # whatever it is, the other examples go on
        fields = {"error": Failure.of(error)}
    result = Result(
        id=example.id,
        question=example.question,
        retrieved=tuple(retrieved),
        bank=size,
        seconds=round(time.perf_counter() - begun, 3),
        **fields,
    )
    return Answered(result, make_trace(graph, method, result, moments) if trace else None)


@asynccontextmanager
async def _open_folder(
    folder: Path,
    manifest: Manifest,
    examples: Sequence[Example],
    at_once: int,
    resume: bool,
    cases: int | None,
) -> AsyncIterator[dict[str, Result]]:
    """The results so far, while the folder is ours; the manifest tells when that was.

    Raises:
        InputError: The folder cannot be used, holds another run, or is in use.
    """
    with file_errors(folder):
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
        _refuse_strange(folder)
        lock = FileLock(folder / ".lock", timeout=0)
        try:
            lock.acquire()
        except Timeout as error:
            why = "another process writes this run"
            raise InputError(f"{folder} is in use", why=why, fix="Wait for its end.") from error
    try:
        begun = await asyncio.to_thread(begin_sitting, at_once, cases)
        earlier, results = await asyncio.to_thread(_begin, folder, manifest, examples, resume)

        def write(sitting: Sitting) -> None:
            done = [results[e.id] for e in examples if e.id in results]
            known = nothing_new(manifest.parameters, examples)
            totals = totals_of(done, waiting=len(examples) - len(done), nothing_new=known)
            told = {"sittings": (*earlier, sitting), "totals": totals}
            manifest.model_copy(update=told).write(folder)

        write(begun)
        try:
            yield results
        finally:
            write(begun.model_copy(update={"finished": current_time()}))
    finally:
        lock.release()


def _refuse_strange(folder: Path) -> None:
    """Leave folders alone that hold something else; what a killed beginning left may stay."""
    names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    if "manifest.json" not in names and names - {"examples.jsonl"}:
        raise InputError(
            f"{folder} is not empty and holds no run", fix="Name a new folder with --out."
        )


def _begin(
    folder: Path, manifest: Manifest, examples: Sequence[Example], resume: bool
) -> tuple[tuple[Sitting, ...], dict[str, Result]]:
    """Make a folder ready to be written; the sittings it has had, and their results."""
    there = read_manifest(folder)
    if there is None:
        # The manifest comes last: with it the folder is a run, and whole.
        write_whole(folder / "examples.jsonl", lines_of(examples))
        return (), {}
    if not resume:
        raise InputError(
            f"{folder} holds a run", fix="Go on with it (--resume), or name a new folder."
        )
    if changed := describe_changes(there, manifest):
        more = f"; and {len(changed) - 5} more" if len(changed) > 5 else ""
        raise InputError(
            f"{folder} holds a run of another configuration",
            why=f"{'; '.join(changed[:5])}{more}",
            fix="Name a new folder, or ask for what this one was begun with.",
        )
    results = read_results(folder / "results.jsonl")
    write_results(folder / "results.jsonl", results.values())  # without a line that was cut off
    return there.sittings, results


def totals_of(results: Sequence[Result], **known: int) -> Totals:
    """The totals of results."""
    answers = [result.answer for result in results if result.answer is not None]
    counts = {
        status: sum(answer.status == status for answer in answers)
        for status in ("answered", "partial", "not_found")
    }
    return Totals(
        **counts,
        **known,
        errors=len(results) - len(answers),
        usage=sum((answer.usage for answer in answers), Usage()),
        seconds=sum(result.seconds for result in results),
    )


def parameters_of(graph: Any) -> dict[str, Any]:
    """All parameters of a method's graph, also those left at their defaults."""
    if isinstance(graph, Answerer):
        return graph.parameters
    schema = getattr(graph, "context_schema", None)
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return {}  # a graph of the caller's own
    return schema().model_dump(mode="json")


def read_bank(bank: Bank | None, parameters: Mapping[str, Any]) -> Bank | None:
    """The part of the bank that the method reads; None where it reads none."""
    if bank is None or "namespace" not in parameters:
        return None
    name = parameters["namespace"]
    return bank.within(name) if name else bank


async def _size(bank: Bank | None) -> int | None:
    return None if bank is None else await bank.count()


def finish(folder: Path, examples: Sequence[Example], results: Sequence[Result]) -> None:
    """Put the results in the order of the examples, each once, and write them as ALCE does."""
    write_results(folder / "results.jsonl", results)
    outputs = [
        (own, result) for own, result in zip(examples, results, strict=True) if result.error is None
    ]
    write_outputs(folder / "alce.json", outputs)


def _refuse_twins(examples: Sequence[Example]) -> None:
    if not examples:
        raise InputError("There is no example to answer", fix="Name a data set that is not empty.")
    [(twin, times)] = Counter(example.id for example in examples).most_common(1)
    if times > 1:
        raise InputError(f"Two examples have the id {twin!r}", fix="Ids must differ.")
