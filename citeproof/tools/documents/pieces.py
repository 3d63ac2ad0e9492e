"""Assembles the text of a document, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from citeproof.text import STOPS
from citeproof.tools.documents.base import BOLD, LONG, LONGEST_NAME, TERM, Heading, name_of_bold
from citeproof.tools.documents.letters import SOFT
from citeproof.tools.documents.tables import Grid
from citeproof.tools.sentences import LIST_ITEM

_LONGEST_TERM = 100
_ENDS = f"{STOPS}:;"


class Pieces:
    """Assembles a text line by line, and records the offsets of its headings and rows."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._gap = ""
        self._headings: list[Heading] = []
        self._line = 0
        self._is_broken = False
        self._mark = ""
        self.margin = ""
        """The indentation of lines without a mark, such as the later ones of an item."""
        self._kept: list[tuple[int, int]] = []

    @property
    def place(self) -> int:
        """The offset at which the next text will begin."""
        return self._length + (len(self._gap) if self._pieces else 0)

    def end_line(self, gap: str) -> None:
        """Begin a new line for the next text, after a blank line if `gap` is two newlines."""
        if not self._gap and self._pieces:
            said = self._pieces[-1].rstrip(" \n")
            self._length -= len(self._pieces[-1]) - len(said)
            self._pieces[-1] = said
        if len(gap) > len(self._gap):
            self._gap = gap

    def break_line(self) -> None:
        """Begin a new line of the same paragraph; its sentence may go on there."""
        self.end_line("\n")
        self._is_broken = bool(self._pieces) and self._pieces[-1][-1:] not in _ENDS

    def add(self, text: str) -> None:
        """Add text to the current line."""
        text = text.translate(SOFT)
        if self._gap or not self._pieces:  # the text begins a line
            if not text.strip():
                return
            text = text.lstrip(" \t") if "\n" not in text else text.lstrip("\n")
            if self._pieces:
                self._append(self._gap)
            if not (self._is_broken and self._gap == "\n"):
                self._line = len(self._pieces)
            self._gap, self._is_broken = "", False
            if before := self._mark or self.margin:
                self._append(before)
        self._append(text.replace("\n", f"\n{self.margin}") if self.margin else text)
        self._mark = ""

    def mark(self, text: str) -> None:
        """Set a prefix, such as a bullet, for the next text if that begins a line."""
        self._mark = text

    def line(self, text: str, gap: str = "\n") -> None:
        """Add text on lines of its own."""
        self.end_line(gap)
        self.add(text)
        self.end_line(gap)

    def rows(self, lines: Iterable[str]) -> None:
        """Add lines that no passage cuts; a line that introduces them stays with the first."""
        self.end_line("\n")
        start = self._introduction()[0]
        for line in lines:
            begin = self.place
            self.line(line)
            if self._length > begin:
                self._kept.append((begin if start is None else start, self._length))
                start = None

    def table(self, grid: Grid, header: int) -> None:
        """Add a table; if `header` is 0, its header is what looks like one."""
        self.end_line("\n\n")
        self.rows(grid.lines(header))
        self.end_line("\n\n")

    def heading(self, start: int, level: int) -> None:
        """Mark the text added since `start` as a heading."""
        if name := " ".join(self.since(start).split()):
            self._headings.append((start, self._length, level, name))

    def bold_line(self, start: int) -> None:
        """Begin a section with the line since `start`, which is all bold.

        Its words stay in the text, since it may be a statement.
        """
        name = name_of_bold(" ".join(self.since(start).split()))
        self._headings.append((start, start, BOLD, name))

    def term(self, start: int, name: str, depth: int = 0) -> None:
        """Mark the text from `start` on as belonging to the term `name`; "" ends the term."""
        self._headings.append((start, start, TERM + depth, _shorten(name)))

    def introduce(self, depth: int) -> Callable[[], None]:
        """Make the previous line the name of the text that follows, if it introduces it.

        Returns:
            A function to call at the end of that text. It withdraws the name if the text is too
            short to be cut.
        """
        count, (start, name) = len(self._headings), self._introduction()
        if start is None or not 0 < len(name) <= LONGEST_NAME:
            return lambda: None
        self._headings.append((start, start, TERM + depth, name.rstrip(":")))
        begin = self.place

        def end() -> None:
            if len(self.since(begin).split()) < LONG:
                del self._headings[count:]
            else:
                self.term(self.place, "", depth)

        return end

    def result(self) -> tuple[str, list[Heading], list[tuple[int, int]]]:
        """Return the text, its headings and the stretches to keep, as `sections` takes them."""
        kept: list[tuple[int, int]] = []
        for start, end in sorted(self._kept):
            if not kept or start >= kept[-1][1]:
                kept.append((start, end))
        return "".join(self._pieces), sorted(self._headings, key=lambda one: one[:2]), kept

    def _append(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def _introduction(self) -> tuple[int | None, str]:
        """Return the start and the words of the last line, if it introduces what follows."""
        text = "".join(self._pieces[self._line :])
        said = text.rstrip()
        if not said.endswith(":") and not said.startswith(("Table ", "Tabelle ", "Tableau ")):
            return None, ""
        if said.startswith("Tab") and len(said) > LONGEST_NAME:
            return None, ""
        mark = LIST_ITEM.match(said)
        return self._length - len(text), " ".join(said[mark.end() if mark else 0 :].split())

    def since(self, start: int) -> str:
        """Return the text from an offset on."""
        found: list[str] = []
        left = self._length - start
        for piece in reversed(self._pieces):
            if left <= 0:
                break
            found.append(piece[-left:] if left < len(piece) else piece)
            left -= len(piece)
        return "".join(reversed(found))


def _shorten(term: str) -> str:
    """Shorten a long term for use in a title; a function loses its arguments."""
    if len(term) <= _LONGEST_TERM:
        return term
    name, bracket, _ = term[:_LONGEST_TERM].partition("(")
    return f"{name}(…)" if bracket and name else f"{name}…"
