"""`citeproof entail`: scores a file of premise-hypothesis pairs."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import copyfileobj
from typing import IO

from rich.console import Console
from rich.text import Text

from citeproof.console.opening import show_count
from citeproof.errors import InputError
from citeproof.files import file_errors, is_among, whole_file
from citeproof.paths import exists, expand
from citeproof.text import count
from citeproof.tools.entailment import Entailment
from citeproof.tools.entailment.pairs import Agreement, rows, score_rows, to_line

_INPUT = "standard input"


@contextmanager
def open_pairs(pairs: Path) -> Iterator[IO[bytes]]:
    """The lines of a file that can be read twice; `-` is the standard input.

    Raises:
        InputError: The file cannot be read.
    """
    with ExitStack() as closing:
        with file_errors(_name(pairs), "read"):
            file: IO[bytes] = sys.stdin.buffer
            if str(pairs) != "-":
                file = closing.enter_context(expand(pairs).open("rb"))
            if str(pairs) == "-" or not file.seekable():
                # A pipe can be read once; a file keeps its content without filling the memory.
                kept = closing.enter_context(tempfile.TemporaryFile())
                copyfileobj(file, kept)
                file = kept
        yield file


def count_pairs(file: IO[bytes], pairs: Path) -> int:
    """How many pairs there are; every line is looked at.

    Raises:
        InputError: A line is no pair, or there is none.
    """
    file.seek(0)
    number = sum(1 for _ in rows(file, _name(pairs)))
    if not number:
        raise InputError(
            f"{_name(pairs)} holds no pair",
            fix='Write each as a line {"premise": "…", "hypothesis": "…"}.',
        )
    return number


@contextmanager
def open_result(out: Path | None, pairs: Path) -> Iterator[IO[bytes]]:
    """Where the scored lines go: the standard output, or a file that appears whole or not at all.

    Raises:
        InputError: The file is the input, is no plain file, or cannot be written.
    """
    if out is None or str(out) == "-":
        yield sys.stdout.buffer
        return
    out = expand(out)
    if exists(out) and not out.is_file():
        raise InputError(f"{out} is not a plain file", fix="Name another one with --out.")
    if str(pairs) != "-" and is_among(out, [pairs]):
        why = "it would be overwritten"
        raise InputError(f"{out} is the input", why=why, fix="Name another file.")
    with whole_file(out) as file:
        yield file


async def score_pairs(
    file: IO[bytes], pairs: Path, total: int, entailment: Entailment, out: IO[bytes], err: Console
) -> Agreement:
    """Score every pair and write it, in order.

    Each chunk is flushed. A bar shows how far it is, if `err` is a terminal.

    Returns:
        How well the scores agree with the labels.

    Raises:
        InputError: The lines cannot be written, or have changed since they were checked.
        ModelError: The entailment model cannot be had.
    """
    agreement = Agreement()
    file.seek(0)
    done = 0
    # Where lines and bar share a terminal, each would be written into the other.
    with show_count(err, total, hidden=out.isatty()) as bar:
        async for chunk in score_rows(rows(file, _name(pairs)), entailment):
            with file_errors("The result"):
                out.write(b"".join(map(to_line, chunk)))
                out.flush()  # so that it flows, and nothing is left to write at the end
            for row in chunk:
                agreement.add(row)
            bar(done := done + len(chunk), total)
    return agreement


def print_agreement(agreement: Agreement, console: Console) -> None:
    """Print how well scores agree with labels; nothing where no pair has one."""
    known = [f"{name} {value:.3f}" for name, value in agreement.figures().items()]
    if known:
        line = " · ".join([count(agreement.pairs, "labelled pair"), *known])
        console.print(Text(line), soft_wrap=True)
    if agreement.unread:
        unread = count(agreement.unread, "label")
        line = f"{unread} left out: write entailed, not_entailed, true or false"
        console.print(Text(line, style="yellow"), soft_wrap=True)


def _name(pairs: Path) -> str:
    return _INPUT if str(pairs) == "-" else str(pairs)
