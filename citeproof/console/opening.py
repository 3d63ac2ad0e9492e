"""Progress on the terminal while models load and download."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.spinner import Spinner
from rich.text import Text

from citeproof.models.progress import Progress, announce
from citeproof.text import plain

__all__ = ["show_count", "show_downloads"]


@contextmanager
def show_downloads(console: Console, waiting: str) -> Iterator[Progress]:
    """A spinner, which tells what starts; while something is downloaded, a bar for each download.

    Without a terminal each of them is told in one line.
    """
    with _bars(console, waiting, DownloadColumn(), TimeRemainingColumn()) as bars:
        tasks: dict[str, TaskID] = {}
        told: set[str] = set()

        def show(label: str, done: int, total: int) -> None:
            if label not in told and not console.is_terminal:
                console.print(Text(plain(announce(label, total))), soft_wrap=True)
            told.add(label)
            if not total:
                text = f"waiting for {plain(label)}, {done} s"
                bars.spinner.update(text=Text(text, style="dim"))
                return
            if label not in tasks:
                tasks[label] = bars.add_task(plain(label), total=total)
            bars.update(tasks[label], completed=done, total=total)

        yield show


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


class _Waiting(Bars):
    """Bars, and a spinner as long as there are none."""

    spinner = Spinner("dots")

    def get_renderables(self) -> Iterable[RenderableType]:
        yield self.make_tasks_table(self.tasks) if self.tasks else self.spinner


def _bars(console: Console, waiting: str, *columns: ProgressColumn) -> _Waiting:
    # Names of files and models are not markup: [red] in one is part of the name.
    name = TextColumn("{task.description}", markup=False)
    hidden = not console.is_terminal
    bars = _Waiting(name, BarColumn(), *columns, console=console, transient=True, disable=hidden)
    bars.spinner = Spinner("dots", text=Text(waiting, style="dim"), style="cyan")
    return bars
