"""How a download, or the start of a server, tells how far it has come."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Progress", "announced", "silent"]


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
