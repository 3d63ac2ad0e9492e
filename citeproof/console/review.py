"""Asks a person at the terminal what to do with a claim that could not be proved."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.prompt import Prompt
from rich.text import Text

from citeproof.console.output import write_line
from citeproof.errors import InputError
from citeproof.runtime.events import ReviewRequested
from citeproof.text import count, plain
from citeproof.types import shown_score

_KEYS = {"a": "approve", "e": "edit", "d": "drop", "q": "quit"}


def require_terminal(console: Console) -> None:
    """Refuse a review if nobody can be asked."""
    if not (sys.stdin.isatty() and console.is_terminal):
        raise InputError(
            "A claim can be reviewed only at a terminal",
            why="nobody can be asked through a pipe or a file",
            fix="Leave review off, or run it from Python.",
        )


async def decide(request: ReviewRequested, console: Console) -> dict[str, str]:
    """Show a claim with its citations, and ask for the decision to resume the run with.

    Raises:
        InputError: Nobody can be asked.
        KeyboardInterrupt: The person quit.
    """
    require_terminal(console)
    _show(request, console)
    with _interruptible():
        try:
            chosen = Prompt.ask(
                r"\[a]pprove, \[e]dit, \[d]rop, \[q]uit",
                choices=list(_KEYS),
                show_choices=False,
                console=console,
            )
            if chosen == "q":
                raise KeyboardInterrupt
            edited = Prompt.ask("In your words", console=console) if chosen == "e" else ""
        except EOFError as error:
            raise KeyboardInterrupt from error
    return {"decision": _KEYS[chosen], "text": edited}


def _show(request: ReviewRequested, console: Console) -> None:
    claim, verdict = request.claim, request.claim.verdict
    console.print()
    if request.problem:
        write_line(console, request.problem, "red")
    write_line(console, "Nothing proves this claim:", "bold yellow")
    write_line(console, claim.text, indent=2)
    score = "" if verdict.score is None else f"score {shown_score(verdict.score)}, "
    reason = f", {plain(verdict.reason)}" if verdict.reason else ""
    tried = f"{score}{count(verdict.trials, 'trial')}{reason}"
    write_line(console, tried, "dim", indent=2)
    for citation, passage in zip(claim.citations, request.passages, strict=True):
        line = Text.assemble((f"[{citation.number}] ", "cyan"), (passage.place, "bold"))
        write_line(console, line, indent=2)
        if citation.sentence:
            write_line(console, f"“{plain(citation.sentence)}”", indent=6)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end a prompt: under asyncio it would cancel a task, which a prompt ignores."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
