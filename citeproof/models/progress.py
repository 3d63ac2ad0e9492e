"""How a download, or the start of a server, tells how far it has come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Progress", "announced", "rich_progress", "silent"]


class Progress(Protocol):
    """Told again and again while a model is fetched or started, from the thread that does it."""

    def __call__(self, label: str, done: int, total: int) -> None:
        """Take note.

        Args:
            label: What is being fetched, such as `language model`, or started.
            done: Bytes so far; falls back to less when another source is tried. Where the total
                is 0, seconds.
            total: Bytes in all; 0 while something starts, which takes nobody knows how long.
        """


def silent(label: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


def announced(label: str, total: int) -> str:
    """What begins, in a line of its own."""
    return f"Fetching {label} ({total / 1e6:,.0f} MB)" if total else f"Waiting for {label}"


@contextmanager
def rich_progress() -> Iterator[Progress]:
    """Progress bars on standard error, one for each label."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Task,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars
    from rich.text import Text

    class Amount(DownloadColumn):
        def render(self, task: Task) -> Text:
            return super().render(task) if task.total else Text(f"{task.completed:.0f} s")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        Amount(),
        TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Bars(*columns, console=Console(stderr=True)) as bars:

        def show(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(escape(label), total=total or None)
            bars.update(tasks[label], completed=done, total=total or None)

        yield show
