"""`citeproof entail`: scores a file of premise-hypothesis pairs."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from shutil import copyfileobj
from typing import IO

from rich.console import Console

from citeproof.console.opening import show_count
from citeproof.console.output import write_line
from citeproof.errors import InputError
from citeproof.files import file_errors, is_among, whole_file
from citeproof.paths import expand
from citeproof.text import count
from citeproof.tools.entailment import Entailment
from citeproof.tools.entailment.pairs import Agreement, Row, rows, score_rows, to_line


def score_file(
    pairs: Path,
    out: Path | None,
    opening: Callable[[], AbstractContextManager[Entailment]],
    err: Console,
) -> Agreement:
    """Score the pairs of a file and write them in order, with a progress bar on a terminal.

    `opening` opens the entailment model, once every line is known to be a pair. Returns how well
    the scores agree with the labels.
    """
    name = "standard input" if str(pairs) == "-" else str(pairs)
    with ExitStack() as opened:
        with file_errors(name, "read"):
            file: IO[bytes] = sys.stdin.buffer
            if str(pairs) != "-":
                file = opened.enter_context(expand(pairs).open("rb"))
            if str(pairs) == "-" or not file.seekable():
                # A pipe can be read only once; a file holds its content without filling memory.
                kept = opened.enter_context(tempfile.TemporaryFile())
                copyfileobj(file, kept)
                file = kept
            file.seek(0)
        total = sum(1 for _ in rows(file, name))
        if not total:
            fix = 'Write each as a line {"premise": "…", "hypothesis": "…"}.'
            raise InputError(f"{name} holds no pair", fix=fix)
        file.seek(0)
        lines = opened.enter_context(open_result(out, pairs))
        entailment = opened.enter_context(opening())
        # On one terminal, the lines and the bar would overwrite each other.
        bar = opened.enter_context(show_count(err, total, hidden=lines.isatty()))
        return asyncio.run(_score(rows(file, name), entailment, lines, bar, total))


async def _score(
    pairs: Iterable[Row],
    entailment: Entailment,
    out: IO[bytes],
    tell: Callable[[int, int], None],
    total: int,
) -> Agreement:
    agreement, done = Agreement(), 0
    async for chunk in score_rows(pairs, entailment):
        with file_errors("The result"):
            out.write(b"".join(map(to_line, chunk)))
            out.flush()  # readers get lines at once, and no write is left for later
        for row in chunk:
            agreement.add(row)
        tell(done := done + len(chunk), total)
    return agreement


@contextmanager
def open_result(out: Path | None, pairs: Path) -> Iterator[IO[bytes]]:
    """Open the output: stdout, or a file that appears whole or not at all."""
    if out is None or str(out) == "-":
        yield sys.stdout.buffer
        return
    out = expand(out)
    if str(pairs) != "-" and is_among(out, [pairs]):
        why = "it would be overwritten"
        raise InputError(f"{out} is the input", why=why, fix="Name another file.")
    with whole_file(out) as file:
        yield file


def print_agreement(agreement: Agreement, console: Console) -> None:
    """Print how well scores agree with labels; print nothing if no pair has a label."""
    known = [f"{name} {value:.3f}" for name, value in agreement.figures().items()]
    if known:
        write_line(console, " · ".join([count(agreement.pairs, "labelled pair"), *known]))
    if agreement.unread:
        unread = count(agreement.unread, "label")
        told = f"{unread} left out: write entailed, not_entailed, true or false"
        write_line(console, told, "yellow")
