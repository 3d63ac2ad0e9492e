"""How a download tells how far it has come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Progress", "rich_progress", "silent"]


class Progress(Protocol):
    """Told again and again while a model is fetched, from the thread that fetches it."""

    def __call__(self, label: str, done: int, total: int) -> None:
        """Take note.

        Args:
            label: What is being fetched, such as `language model`.
            done: Bytes so far; falls back to less when another source is tried.
            total: Bytes in all.
        """


def silent(label: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


@contextmanager
def rich_progress() -> Iterator[Progress]:
    """Progress bars on standard error, one for each label."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Bars(*columns, console=Console(stderr=True)) as bars:

        def show(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(escape(label), total=total)
            bars.update(tasks[label], completed=done, total=total)

        yield show
