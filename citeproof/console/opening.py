"""Progress on the terminal while models load and download."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.spinner import Spinner
from rich.text import Text

from citeproof.models.progress import Progress, announce
from citeproof.text import plain


@contextmanager
def show_downloads(console: Console, waiting: str) -> Iterator[Progress]:
    """A spinner, which tells what starts; while something is downloaded, a bar for each download.

    Without a terminal each of them is told in one line.
    """
    if not console.is_terminal:
        yield tell_lines(console)
        return
    # Names of files and models are not markup: [red] in one is part of the name.
    name = TextColumn("{task.description}", markup=False)
    bars = Bars(name, BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=console)
    spinner = Spinner("dots", text=Text(waiting, style="dim"), style="cyan")
    tasks: dict[str, TaskID] = {}

    def show(label: str, done: int, total: int) -> None:
        if not total:
            spinner.update(text=Text(f"waiting for {plain(label)}, {done} s", style="dim"))
            return
        if label not in tasks:
            tasks[label] = bars.add_task(plain(label), total=total)
        bars.update(tasks[label], completed=done, total=total)

    def draw() -> RenderableType:
        return bars.get_renderable() if tasks else spinner

    with Live(console=console, get_renderable=draw, transient=True, refresh_per_second=10):
        yield show


def tell_lines(console: Console) -> Progress:
    """Tells each download and start in a line, which goes well with any bar that is there."""
    told: set[str] = set()

    def tell(label: str, done: int, total: int) -> None:
        if label not in told:
            told.add(label)
            console.print(Text(plain(announce(label, total))), soft_wrap=True)

    return tell


@contextmanager
def show_count(
    console: Console, total: int | None = None, *, hidden: bool = False
) -> Iterator[Callable[[int, int], None]]:
    """A bar, which is told how many are done, and of how many.

    Nothing is shown where the console is not a terminal, or if it is `hidden`.
    """
    bars = Bars(
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=hidden or not console.is_terminal,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with bars:
        task = bars.add_task("", total=total)
        yield lambda done, whole: bars.update(task, completed=done, total=whole)
