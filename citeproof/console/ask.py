"""`citeproof ask`: answers a question and shows the answer as it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from citeproof.console.live import conclude, follow
from citeproof.console.opening import show_downloads
from citeproof.console.output import complain, echo_json, terminal, write_file
from citeproof.console.page import render_page
from citeproof.console.reading import (
    nothing_indexed,
    read_first,
    refuse_missing_index,
    refuse_nothing,
)
from citeproof.console.review import decide, require_terminal
from citeproof.console.runs import LocalRuns, RemoteRuns, Runs
from citeproof.console.threads import Checkpoints, Thread, is_outage
from citeproof.console.warm import find_server
from citeproof.errors import InputError, ModelError, ModelOutageError, RetrievalError
from citeproof.evaluation.traces import record
from citeproof.files import refuse_place
from citeproof.graphs.registry import METHODS, open_method
from citeproof.graphs.shape import read_shape
from citeproof.paths import is_folder
from citeproof.runtime.moments import Moment
from citeproof.settings import Settings
from citeproof.text import plain

ABSTAINED = 3
"""Exit code if the documents do not answer the question."""
CUT_OFF = 4
"""Exit code if a model or retriever was lost before the answer was complete."""


def ask(
    question: str,
    settings: Settings,
    method: str,
    parameters: dict[str, Any],
    *,
    docs: Sequence[Path],
    as_json: bool,
    html: Path | None,
    trace: bool,
    events: Path | None,
    thread: str | None,
    cold: bool,
) -> int:
    """Answer a question and return the exit code; the options are those of `citeproof ask`."""
    refuse_unreadable(question)
    # This reports a wrong parameter before any model is loaded.
    fixed = open_method(method).sketch(**parameters).context_schema()
    err = terminal(stderr=True)
    if review := getattr(fixed, "review", False):
        require_terminal(err)
    sources = refuse_nothing(docs) if docs else ()
    for path in filter(None, (html, events)):
        refuse_place(path, sources)
    err.quiet = as_json and not err.is_terminal
    # If the JSON is piped on, a terminal still shows the run, but a log is not filled with it.
    console = err if as_json else terminal()
    moments: list[Moment] = []
    with open_runs(settings, method, parameters, err, docs, cold=cold) as runs:
        kept = _open_thread(thread, settings)
        run = runs.ask(question, kept, partial(decide, console=err), review=review)
        try:
            with record(events, runs.graph, method, question, moments):
                answer = asyncio.run(
                    follow(run, console, question=question, trace=trace, into=moments)
                )
                if not as_json:
                    conclude(answer, console)
                    if runs.goes_on:  # the part before the interruption was not shown again
                        whole = f"\nThe whole answer: {plain(answer.text, lines=True)}"
                        console.print(Text(whole), soft_wrap=True)
                if is_outage(moments) and not answer.claims:
                    raise ModelOutageError(answer.reason)
        except KeyboardInterrupt:
            # Said at once, because the embedded model finishes its batch before it stops.
            complain("Interrupted; closing the models.")
            _advise(kept)
            raise typer.Exit(130) from None
        except (ModelError, RetrievalError) as error:
            if kept is not None:
                error.fix = f"{error.fix} {kept.advice}".strip()
            raise
    if as_json:
        echo_json(answer)
    if html is not None:
        page = render_page(answer, moments, read_shape(runs.graph))
        write_file(html, page, told=not as_json)
    if events is not None and not as_json:
        typer.echo(f"Events: {events}")
    if is_outage(moments):
        _advise(kept)
        return CUT_OFF
    return ABSTAINED if answer.status == "not_found" else 0


def refuse_unreadable(question: str) -> None:
    """Refuse a question without words, or with bytes that are not UTF-8."""
    if not question.strip():
        raise InputError("The question is empty", fix="Ask something, in words.")
    try:
        question.encode()
    except UnicodeEncodeError as error:  # Python keeps such bytes as lone surrogates
        fix = "Set the terminal to UTF-8, or convert the text."
        raise InputError("The question is not UTF-8", fix=fix) from error


def _open_thread(name: str | None, settings: Settings) -> Thread | None:
    checkpoints, chroma = Checkpoints.of(settings), settings.chroma
    if name is not None:
        return Thread(name, checkpoints)
    keeps = is_folder(chroma.path) and not chroma.in_memory
    return Thread.unnamed(checkpoints) if keeps else None


def _advise(kept: Thread | None) -> None:
    if kept is not None and kept.advice:
        complain(kept.advice)


@contextmanager
def open_runs(
    settings: Settings,
    method: str,
    parameters: dict[str, Any],
    err: Console,
    docs: Sequence[Path] = (),
    *,
    cold: bool,
) -> Iterator[Runs]:
    """Open a method at a server with the same models and store open, else in this process.

    With `docs`, the method always runs in this process, which reads them first. Without them, a
    method that searches needs an index.
    """
    fixed = open_method(method).sketch(**parameters).context_schema()
    reads = getattr(fixed, "cite", True)  # CLOSEDBOOK reads only to cite
    if reads and not docs:
        refuse_missing_index(settings)
    is_own = method not in METHODS  # which a server does not import
    server = None if cold or docs or is_own else find_server(settings)
    if server is not None:
        err.print(Text(f"Using the models of citeproof serve at {server.address}", style="dim"))
        yield RemoteRuns(server, method, parameters)
        return
    from citeproof.tools.toolbox import Toolbox

    with show_downloads(err, "opening models…") as progress:
        writes = open_method(method).writes
        tools = Toolbox.from_settings(settings, llm=writes, progress=progress)
    with tools:
        if docs:
            read_first(tools.index, docs, err)
        elif reads and tools.index is not None and tools.index.count() == 0:
            raise nothing_indexed(settings)
        yield LocalRuns(partial(open_method(method).build, tools, **parameters))
