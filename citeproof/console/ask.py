"""`citeproof ask`: answers a question before the reader's eyes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from citeproof.console.live import conclude, follow
from citeproof.console.opening import show_downloads
from citeproof.console.output import complain, echo_json, terminal, write_page
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
from citeproof.graphs.registry import find_method
from citeproof.graphs.shape import read_shape
from citeproof.paths import is_folder
from citeproof.runtime.moments import Moment
from citeproof.settings import Settings
from citeproof.text import plain
from citeproof.types import Answer

ABSTAINED = 3
"""Exit code where the documents do not answer the question."""
CUT_OFF = 4
"""Exit code where a model or retriever was lost before the answer was done."""


@dataclass
class Ask:
    """A question, and what is to be made of its answer."""

    question: str
    settings: Settings
    method: str
    parameters: dict[str, str]
    docs: Sequence[Path] = ()
    """Read first, into memory or the store."""
    as_json: bool = False
    html: Path | None = None
    """Where the answer is written as a page."""
    trace: bool = False
    """Show each step."""
    events: Path | None = None
    """Where the run's events are kept."""
    thread: str | None = None
    """Where the conversation is kept."""
    cold: bool = False
    """Load the models here, even if a server has them."""
    moments: list[Moment] = field(default_factory=list, init=False)
    kept: Thread | None = field(default=None, init=False)

    def run(self) -> int:
        """Answer; gives the exit code.

        Raises:
            CiteproofError: The question cannot be answered.
            KeyboardInterrupt: It says what is kept.
        """
        if not self.question.strip():
            raise InputError("The question is empty", fix="Ask something, in words.")
        # A wrong parameter is told before models are loaded.
        fixed = find_method(self.method).sketch(**self.parameters).context_schema()
        err = terminal(stderr=True)
        if review := getattr(fixed, "review", False):
            require_terminal(err)
        sources = refuse_nothing(self.docs) if self.docs else ()
        for path in filter(None, (self.html, self.events)):
            refuse_place(path, sources)
        err.quiet = self.as_json and not err.is_terminal
        reads = getattr(fixed, "cite", True)  # CLOSEDBOOK may read nothing
        with open_runs(
            self.settings, self.method, self.parameters, err, self.docs, reads=reads, cold=self.cold
        ) as runs:
            self._name_thread()
            try:
                with record(self.events, runs.graph, self.method, self.question, self.moments):
                    answer = self._answer(runs, err, review=review)
                    if is_outage(self.moments) and not answer.claims:
                        raise ModelOutageError(answer.reason)
            except KeyboardInterrupt:
                # Told at once: the embedded model reads its batch to the end before it stops.
                complain("Interrupted; closing the models.")
                self._advise()
                raise typer.Exit(130) from None
            except (ModelError, RetrievalError) as error:
                if self.kept is not None:
                    error.fix = f"{error.fix} {self.kept.advice}".strip()
                raise
        return self._conclude(answer, runs)

    def _name_thread(self) -> None:
        checkpoints, chroma = Checkpoints.of(self.settings), self.settings.chroma
        if self.thread is not None:
            self.kept = Thread(self.thread, checkpoints)
        elif is_folder(chroma.path) and not chroma.in_memory:
            self.kept = Thread.unnamed(checkpoints)

    def _answer(self, runs: Runs, err: Console, *, review: bool) -> Answer:
        """Show the run, and record what happens."""
        run = runs.ask(self.question, self.kept, partial(decide, console=err), review=review)
        # With the JSON piped on, the run still shows on the terminal, but does not fill a log.
        console = err if self.as_json else terminal()
        following = follow(
            run, console, question=self.question, trace=self.trace, into=self.moments
        )
        answer = asyncio.run(following)
        if self.as_json:
            return answer
        conclude(answer, console)
        if runs.goes_on:  # what was shown before the interruption was not shown again
            whole = plain(answer.text, lines=True)
            console.print(Text(f"\nThe whole answer: {whole}"), soft_wrap=True)
        return answer

    def _conclude(self, answer: Answer, runs: Runs) -> int:
        told = not self.as_json
        if self.as_json:
            echo_json(answer.model_dump_json(indent=2))
        if self.html is not None:
            page = render_page(answer, self.moments, read_shape(runs.graph))
            write_page(self.html, page, told=told)
        if self.events is not None and told:
            typer.echo(f"Events: {self.events}")
        if is_outage(self.moments):
            self._advise()
            return CUT_OFF
        return ABSTAINED if answer.status == "not_found" else 0

    def _advise(self) -> None:
        if self.kept is not None and self.kept.advice:
            complain(self.kept.advice)


@contextmanager
def open_runs(
    settings: Settings,
    method: str,
    parameters: dict[str, str],
    err: Console,
    docs: Sequence[Path] = (),
    *,
    reads: bool,
    cold: bool,
) -> Iterator[Runs]:
    """Runs of a method: at a server that has the same models and store open, else in this process.

    The documents `docs` are read first, in this process. Without them a method that reads needs an
    index.

    Raises:
        InputError: There are no documents.
        CiteproofError: The models or the store cannot be opened.
    """
    if reads and not docs:
        refuse_missing_index(settings)
    server = None if cold or docs else find_server(settings)
    if server is not None:
        err.print(Text(f"By the models of citeproof serve at {server.address}", style="dim"))
        yield RemoteRuns(server, method, parameters)
        return
    from citeproof.tools.toolbox import Toolbox

    with show_downloads(err, "opening models…") as progress:
        writes = find_method(method).writes
        tools = Toolbox.from_settings(settings, llm=writes, progress=progress)
    with tools:
        if docs:
            read_first(tools.index, docs, err)
        elif reads and tools.index is not None and tools.index.count() == 0:
            raise nothing_indexed(settings)
        yield LocalRuns(partial(find_method(method).build, tools, **parameters))
