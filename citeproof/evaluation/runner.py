"""Asks a method many questions concurrently, and saves each answer as soon as it is complete.

A run's folder contains `manifest.json`, `examples.jsonl` (the questions), `results.jsonl` (a line
per finished example, written to disk before `on_result` is called), `traces/` if requested, and
after the last answer `alce.json`, which ALCE's public evaluator reads. An interrupted or killed run
continues where it stopped, and does not ask finished examples again.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

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
from citeproof.evaluation.results import Failure, Result, append, digest, lines_of, read_results
from citeproof.evaluation.runs import write_outputs
from citeproof.evaluation.traces import Trace, make_trace, trace_path, write_trace
from citeproof.files import file_errors, write_whole
from citeproof.memory.bank import Bank
from citeproof.paths import expand
from citeproof.runtime.events import EvidenceFound, PassagesRetrieved
from citeproof.runtime.gather import together
from citeproof.runtime.moments import Moment, observe
from citeproof.tools.citations.marks import strip_flags
from citeproof.tools.entailment import OUTAGE
from citeproof.tools.retrieval.hybrid import BY_WORDS
from citeproof.types import Usage

__all__ = ["Answered", "Answerer", "Told", "answer", "describe", "run"]

Told = Callable[[Example, Result, bool], Awaitable[None]]
"""Called with each result, and whether it is from an earlier sitting."""


_NO_DETAILS = ("answer", "ledger", "question", "messages")
"""Keys of the graph's output that are left out of a result's `details`."""


class Answered(NamedTuple):
    """The outcome of an example."""

    result: Result
    trace: Trace | None = None
    """None if no trace was requested."""


@dataclass(frozen=True)
class Answerer:
    """A graph that runs elsewhere; `evaluation.on_ray` creates one."""

    answer: Callable[..., Awaitable[Answered]]
    """Called with the method, an example, and `trace`, like `answer` with a graph."""
    parameters: dict[str, Any]
    """All parameters of the method."""
    cases: int | None = None
    """Cases in the memory bank at the start; None if the method reads none."""


def describe(graph: Any, method: str, examples: Sequence[Example], **known: Any) -> Manifest:
    """Return the manifest of a run before it starts.

    `known` are further fields of the manifest and of its `data`.
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
    """Ignore the result."""


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
    """Answer examples, and save the answers in a folder.

    If an example has documents, the graph searches only these; otherwise it uses its retriever. An
    error of an example is saved instead of its answer, and the example is asked again when the run
    is resumed.

    Args:
        graph: The compiled graph of the method, or an `Answerer`.
        method: The method's name, for the manifest.
        examples: Their ids must be unique.
        folder: The run's folder; created if it does not exist. It may not be in use.
        about: Further fields of the manifest: `settings`, `models`, and fields of its `data`.
        at_once: Maximum number of examples answered concurrently.
        resume: Continue the run in the folder, which must have the same configuration.
        bank: The memory bank, whose size is recorded if the method reads it.
        trace: Also save a trace of each example, which is written to disk before its result.
        on_result: Called with each result, beginning with those of earlier sittings.

    Returns:
        The run's manifest, with totals.
    """
    _refuse_twins(examples)
    folder = expand(folder)
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
            # Not in a thread, which would go on writing after the run is cancelled.
            path = places[example.id]
            with file_errors(path):
                path.unlink(missing_ok=True)  # the trace of an earlier attempt
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
    """Answer an example with a compiled graph; an error of the example becomes part of the result.

    The result records the size of `bank`, which is the part of the bank that the method reads.
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
            if trace and (moment := observe(namespace, mode, part)):
                moments.append(moment)
        said = final["answer"]
        lost = any(claim.verdict.reason == OUTAGE for claim in said.claims)
        if lost or any(note.startswith(BY_WORDS) for note in said.notes):
            why = " ".join(said.notes)
            raise ModelOutageError("A model's server did not answer", why=why)
        details = {key: value for key, value in final.items() if key not in _NO_DETAILS}
        fields = {
            # Flags are for readers; a metric would count them as words of the answer.
            "output": strip_flags(said.text),
            "docs": said.passages,
            "answer": said,
            "details": to_jsonable_python(details, fallback=str),
        }
    except Exception as error:  # no error may stop the other examples
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
    """Lock a folder and yield its results so far; the manifest records the times."""
    with file_errors(folder):
        await asyncio.to_thread(_make_folder, folder)
        lock = FileLock(folder / ".lock", timeout=0)
        try:
            lock.acquire()
        except Timeout as error:
            why = "another process writes this run"
            raise InputError(f"{folder} is in use", why=why, fix="Wait until it ends.") from error
    try:
        begun = await asyncio.to_thread(begin_sitting, at_once, cases)
        earlier, results = await asyncio.to_thread(_begin, folder, manifest, examples, resume)

        def write(sitting: Sitting) -> None:
            done = [results[e.id] for e in examples if e.id in results]
            totals = totals_of(manifest.parameters, examples, done)
            told = {"sittings": (*earlier, sitting), "totals": totals}
            manifest.model_copy(update=told).write(folder)

        write(begun)
        try:
            yield results
        finally:
            write(begun.model_copy(update={"finished": current_time()}))
    finally:
        lock.release()


def _make_folder(folder: Path) -> None:
    """Create the folder, and reject one with other content than a run's, even one killed early."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    if "manifest.json" not in names and names - {"examples.jsonl"}:
        fix = "Name a new folder with --out."
        raise InputError(f"{folder} is not empty and contains no run", fix=fix)


def _begin(
    folder: Path, manifest: Manifest, examples: Sequence[Example], resume: bool
) -> tuple[tuple[Sitting, ...], dict[str, Result]]:
    """Prepare a folder for writing; return its earlier sittings and their results."""
    there = read_manifest(folder)
    if there is None:
        # The manifest comes last, because it makes the folder a complete run.
        write_whole(folder / "examples.jsonl", lines_of(examples))
        return (), {}
    if not resume:
        raise InputError(
            f"{folder} contains a run", fix="Continue it (--resume), or name a new folder."
        )
    if changed := describe_changes(there, manifest):
        more = f"; and {len(changed) - 5} more" if len(changed) > 5 else ""
        raise InputError(
            f"{folder} contains a run of another configuration",
            why=f"{'; '.join(changed[:5])}{more}",
            fix="Name a new folder, or use the configuration that this run was started with.",
        )
    results = read_results(folder / "results.jsonl")
    # Without a truncated last line.
    write_whole(folder / "results.jsonl", lines_of(results.values()))
    return there.sittings, results


def totals_of(
    parameters: Mapping[str, Any], examples: Sequence[Example], results: Sequence[Result]
) -> Totals:
    """Return the totals of a run from its method's parameters, its examples and results so far."""
    answers = [result.answer for result in results if result.answer is not None]
    counts = Counter[str](answer.status for answer in answers)
    return Totals(
        **counts,
        errors=len(results) - len(answers),
        waiting=len(examples) - len(results),
        nothing_new=nothing_new(parameters, examples),
        usage=sum((answer.usage for answer in answers), Usage()),
        seconds=sum(result.seconds for result in results),
    )


def parameters_of(graph: Any) -> dict[str, Any]:
    """Return all parameters of a method's graph, including defaults."""
    if isinstance(graph, Answerer):
        return graph.parameters
    schema = getattr(graph, "context_schema", None)
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return {}  # the caller's own graph
    return schema().model_dump(mode="json")


def read_bank(bank: Bank | None, parameters: Mapping[str, Any]) -> Bank | None:
    """Return the part of the bank that the method reads; None if it reads none."""
    if bank is None or "namespace" not in parameters:
        return None
    name = parameters["namespace"]
    return bank.within(name) if name else bank


async def _size(bank: Bank | None) -> int | None:
    return None if bank is None else await bank.count()


def finish(folder: Path, examples: Sequence[Example], results: Sequence[Result]) -> None:
    """Write the results in the order of the examples, each once, and also in ALCE's format."""
    write_whole(folder / "results.jsonl", lines_of(results))
    items = zip(examples, results, strict=True)
    write_outputs(folder / "alce.json", [item for item in items if item[1].error is None])


def _refuse_twins(examples: Sequence[Example]) -> None:
    if not examples:
        raise InputError("There is no example to answer", fix="Name a data set that is not empty.")
    [(twin, times)] = Counter(example.id for example in examples).most_common(1)
    if times > 1:
        raise InputError(f"Two examples have the id {twin!r}", fix="Ids must be unique.")
