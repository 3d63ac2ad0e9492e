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
    """Show a spinner with what is starting, or a progress bar for each download.

    Without a terminal, print one line for each start and each download.
    """
    if not console.is_terminal:
        yield tell_lines(console)
        return
    # Names of files and models are not markup: [red] in a name is part of it.
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
    """Return a function that prints a line per download or start, beside any progress bar."""
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
    """Show a progress bar; yield a function that takes how many are done, and the total.

    Nothing is shown if the console is not a terminal, or if `hidden` is set.
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
