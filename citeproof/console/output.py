"""Output of commands to terminals, files and pipes. Importing it loads nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from citeproof.files import write_whole
from citeproof.text import plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


def terminal(*, stderr: bool = False) -> Console:
    """Return a console for this process."""
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console.width = 1000  # files need no wrapping, and paths must stay whole
    return console


def echo_json(value: object) -> None:
    """Print a value as UTF-8 JSON, whatever the terminal's encoding."""
    import typer
    from pydantic_core import to_json

    typer.echo(to_json(value, indent=2))


def print_table(
    console: Console, rows: Iterable[Sequence[str | Text]], titles: Sequence[str] = ()
) -> None:
    """Print rows as columns under optional titles; the column `passages` is right-aligned."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.show_header, table.header_style = bool(titles), "bold"
    made = list(rows)
    for title in titles or [""] * max(map(len, made), default=0):
        table.add_column(title, overflow="fold", justify="right" if title == "passages" else "left")
    for row in made:
        table.add_row(*(cell if isinstance(cell, Text) else Text(plain(cell)) for cell in row))
    console.print(table)


def write_line(console: Console, text: str | Text, style: str = "", *, indent: int = 0) -> None:
    """Print a text, wrapped and indented on a terminal; strings lose control characters."""
    from rich.padding import Padding
    from rich.text import Text

    line = Text(plain(text), style) if isinstance(text, str) else text
    if console.is_terminal:
        console.print(Padding.indent(line, indent))
    else:
        # A file or a pipe has no width, so a sentence stays on one line.
        console.print(Text(" " * indent) + line, soft_wrap=True)


def write_signed(console: Console, sign: Text, text: Text) -> None:
    """Print a text after its sign; on a terminal all its lines are indented past the sign."""
    from rich.table import Table
    from rich.text import Text

    if not console.is_terminal:
        write_line(console, Text.assemble(sign, " ", text))
        return
    table = Table.grid(padding=(0, 1))
    table.add_row(sign, text)
    console.print(table)


def write_file(path: Path, text: str, what: str = "Page", *, told: bool = True) -> None:
    """Write a file; with `told`, print what it is and its path."""
    import typer

    write_whole(path, text)
    if told:
        typer.echo(f"{what}: {path}")


def complain(text: str, console: Console | None = None) -> None:
    """Print an error message, by default to stderr."""
    from rich.text import Text

    console = console or terminal(stderr=True)
    console.print(Text(plain(text), style="red"), soft_wrap=True)
