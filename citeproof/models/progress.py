"""How a download, or the start of a server, tells how far it has come."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol


class Progress(Protocol):
    """Told again and again while a model is fetched or started, from any one thread at a time."""

    def __call__(self, label: str, done: int, total: int) -> None:
        """Take note.

        Args:
            label: The thing that is fetched or started, such as `language model`.
            done: Bytes so far; falls back to less when another source is tried. Where the total
                is 0, seconds.
            total: Bytes in all; 0 while something starts, which takes nobody knows how long.
        """


def silent(label: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


def announce(label: str, total: int) -> str:
    """The line that announces a download."""
    return f"Fetching {label} ({total / 1e6:,.0f} MB)" if total else f"Waiting for {label}"


@contextmanager
def without_bars() -> Iterator[None]:
    """Keep transformers from drawing "Loading weights" over the caller's own output."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


@contextmanager
def watch_folder(folder: Path, tell: Callable[[int], None]) -> Iterator[None]:
    """A folder that is being filled: how many bytes it holds is told a few times a second."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            with suppress(FileNotFoundError):  # a file that has just been moved
                tell(size_of(folder))

    watcher = threading.Thread(target=watch, daemon=True, name="citeproof-progress")
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder and below."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
