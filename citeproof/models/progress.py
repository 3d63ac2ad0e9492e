"""Reports the progress of a download or of a server's start."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol


class Progress(Protocol):
    """Called repeatedly while a model is fetched or started, from one thread at a time."""

    def __call__(self, label: str, done: int, total: int) -> None:
        """Report progress with what is fetched or started, such as `language model`.

        `done` counts bytes, and decreases when another source is tried. While something starts,
        whose duration is unknown, it counts seconds, and `total` is 0.
        """


def silent(label: str, done: int, total: int) -> None:
    """Ignore the progress."""


def announce(label: str, total: int) -> str:
    """Return the line that announces a download or the start of a server."""
    return f"Fetching {label} ({total / 1e6:,.0f} MB)" if total else f"Waiting for {label}"


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Keep libraries that load a model from writing between the caller's output.

    transformers draws bars, and the hub's client tells of each retry before it raises an error.
    """
    from transformers.utils import logging as bars

    hub = logging.getLogger("huggingface_hub")
    shown, level = bars.is_progress_bar_enabled(), hub.level
    bars.disable_progress_bar()
    hub.setLevel(logging.ERROR)
    try:
        yield
    finally:
        hub.setLevel(level)
        if shown:
            bars.enable_progress_bar()


@contextmanager
def watch_folder(folder: Path, tell: Callable[[int], None]) -> Iterator[None]:
    """Call `tell` a few times a second with the number of bytes in a folder being filled."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            with suppress(FileNotFoundError):  # a file was just moved
                tell(size_of(folder))

    watcher = threading.Thread(target=watch, daemon=True, name="citeproof-progress")
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def size_of(folder: Path) -> int:
    """Return the bytes of all files in a folder and its subfolders."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
