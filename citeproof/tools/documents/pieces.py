"""Puts the text of a document together, line by line."""

from __future__ import annotations

__all__ = ["Pieces"]


class Pieces:
    """Puts a text together line by line, and remembers where its headings stand."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._gap = ""
        self._headings: list[tuple[int, int, int]] = []

    @property
    def length(self) -> int:
        """Characters so far."""
        return self._length

    def end_line(self, gap: str) -> None:
        """Whatever comes next begins a new line, after a blank one if `gap` is two."""
        if len(gap) > len(self._gap):
            self._gap = gap

    def add(self, text: str, level: int = 0) -> None:
        """More text of the same line; with a level, of a heading."""
        if self._gap or not self._pieces:
            if not text.strip():
                return
            text = (self._gap if self._pieces else "") + text.lstrip(" ")
        start = self._length + (len(self._gap) if self._pieces and self._gap else 0)
        self._pieces.append(text)
        self._length += len(text)
        if level:
            if not self._gap and self._headings and self._headings[-1][1] == start:
                start = self._headings.pop()[0]
            self._headings.append((start, self._length, level))
        self._gap = ""

    def result(self) -> tuple[str, list[tuple[int, int, int, str]]]:
        """The text, and its headings as `sections` takes them."""
        text = "".join(self._pieces)
        return text, [
            (start, end, level, " ".join(text[start:end].split()))
            for start, end, level in self._headings
        ]
