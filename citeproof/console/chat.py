"""`citeproof chat`: a conversation, in which a question may follow up on earlier ones."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from citeproof.console.ask import open_runs, refuse_unreadable
from citeproof.console.live import conclude, follow
from citeproof.console.output import complain, terminal, write_line
from citeproof.console.page import render_page
from citeproof.console.review import decide
from citeproof.console.runs import Runs
from citeproof.console.text import describe_proved
from citeproof.console.threads import Checkpoints, Thread
from citeproof.errors import CiteproofError, InputError
from citeproof.files import refuse_place, write_whole
from citeproof.graphs.shape import read_shape
from citeproof.paths import expand
from citeproof.runtime.moments import Moment
from citeproof.settings import Settings
from citeproof.text import count
from citeproof.types import Answer

HELP = "Ask, or: /sources, /save FILE.html, /new, /quit. Ctrl-C stops an answer, Ctrl-D ends."


@dataclass
class Chat:
    """A conversation at the terminal, or over a pipe."""

    runs: Runs
    thread: Thread
    console: Console
    err: Console
    answer: Answer | None = None
    moments: list[Moment] = field(default_factory=list)
    """Moments of the answer, if this process gave it."""

    def run(self, stdin: TextIO) -> int:
        """Handle all lines and return the number that failed."""
        asyncio.run(self._resume())
        failures = 0
        for line in self._lines(stdin):
            if line == "/quit":
                break
            try:
                self._take(line)
            except CiteproofError as error:
                complain(str(error), self.err)
                failures += 1
            except KeyboardInterrupt:
                complain("Stopped.", self.err)
        if self.thread.kind == "passing":
            with suppress(CiteproofError):  # a server that is gone has forgotten it
                asyncio.run(self.runs.forget(self.thread))
        return failures

    def _lines(self, stdin: TextIO) -> Iterator[str]:
        """Yield the lines that are not empty."""
        attended = stdin.isatty()
        if attended:
            write_line(self.console, HELP, "dim")
        lines: Iterable[str] = self._read_input() if attended else stdin
        for line in filter(None, map(str.strip, lines)):
            if not attended:
                write_line(self.console, f"> {line}", "bold")
            yield line

    def _read_input(self) -> Iterator[str]:
        import readline  # noqa: F401  gives `input` line editing and history

        while True:
            try:
                yield self.console.input("\n[bold]>[/] ")
            except KeyboardInterrupt:
                self.console.print()
            except EOFError:
                self.console.print()
                return

    def _take(self, line: str) -> None:
        command, _, rest = line.partition(" ")
        if not line.startswith("/"):
            asyncio.run(self._ask(line))
        elif command == "/new":
            asyncio.run(self._forget())
        elif command == "/sources":
            conclude(self._last(), self.console)
        elif command == "/save":
            self._save(rest.strip())
        else:
            raise InputError(f"There is no {command}", fix=HELP)

    async def _resume(self) -> None:
        """Continue the conversation that the thread holds."""
        self.answer, questions = await self.runs.begun(self.thread)
        if questions:
            so_far = f"{self.thread.name}: {count(questions, 'question')} so far"
            write_line(self.console, so_far, "dim")

    async def _ask(self, question: str) -> None:
        refuse_unreadable(question)
        moments: list[Moment] = []
        run = self.runs.ask(question, self.thread, partial(decide, console=self.err))
        self.answer = await follow(run, self.console, into=moments)
        self.moments = moments
        if self.answer.reason:
            write_line(self.console, self.answer.reason, "yellow")
        more = {
            "source": self.answer.passages,
            "near passage": self.answer.nearest,
            "note": self.answer.notes,
        }
        parts = [describe_proved(self.answer)] if self.answer.claims else []
        parts += [count(len(found), kind) for kind, found in more.items() if found]
        where = ": /sources" if any(more.values()) else ""
        write_line(self.console, " · ".join(parts) + where, "dim")

    async def _forget(self) -> None:
        """Delete the conversation and begin a new one."""
        await self.runs.forget(self.thread)
        self.answer, self.moments = None, []
        write_line(self.console, "A new conversation.", "dim")

    def _save(self, name: str) -> None:
        """Write the last answer as a page, with its trace if this process gave the answer."""
        if not name:
            raise InputError("/save needs a name", fix="Write it as /save answer.html.")
        answer, path = self._last(), expand(Path(name))
        refuse_place(path)
        write_whole(path, render_page(answer, self.moments, read_shape(self.runs.graph)))
        write_line(self.console, f"Page: {path}")

    def _last(self) -> Answer:
        if self.answer is None:
            raise InputError("There is no answer yet", fix="Ask something first.")
        return self.answer


def chat(
    settings: Settings,
    method: str,
    parameters: dict[str, Any],
    thread: str | None,
    stdin: TextIO,
    *,
    cold: bool,
) -> int:
    """Hold a conversation and return the number of lines that failed.

    Each line of `stdin` is a question. Without the name of a thread, the conversation is deleted
    at the end.
    """
    err = terminal(stderr=True)
    with open_runs(settings, method, parameters, err, cold=cold) as runs:
        if thread is None:
            kept = Thread(secrets.token_hex(8))
        else:
            kept = Thread(thread, Checkpoints.of(settings))
        return Chat(runs, kept, terminal(), err).run(stdin)
