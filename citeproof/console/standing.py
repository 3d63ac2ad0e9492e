"""Progress on the terminal while documents are indexed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from citeproof.memory.index import Step
from citeproof.text import count, is_web, plain
from citeproof.tools.documents.files import find

_FIRST_LINE, _LINES = 1.0, 5.0
"""Seconds until the first line, and between lines, without a terminal."""
_LEAST_SHARE = 0.02
"""Share of the work from which its pace tells how long the rest takes; models load before."""


class Standing:
    """The progress of an update; called with each of its steps.

    `sizes` are the bytes of documents, as far as they are known beforehand.
    """

    def __init__(
        self, sizes: Mapping[str, int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._sizes = sizes
        self._clock = clock
        self._began = self._paced = clock()
        self._worked: dict[str, float] = {}
        """Document → how many of its bytes are stored, for documents that had to be read."""
        self._skipped = 0
        """Bytes of documents that did not have to be read."""
        self._stored: dict[str, int] = {}
        self.finished: set[str] = set()
        self.document = ""
        """The document being read or stored."""

    def __call__(self, step: Step) -> None:
        """Record a step."""
        self.document, size = step.document, self._sizes.get(step.document, 0)
        if step.passages:
            self._worked[step.document] = size * step.stored / step.passages
            self._stored[step.document] = step.stored
            self._paced = self._clock()
        elif step.state == "done":
            self._skipped += size
        if step.state == "done":
            self.finished.add(step.document)

    @property
    def share(self) -> float:
        """Share of all bytes done, from 0 to 1; web pages do not count."""
        total = sum(self._sizes.values())
        return (self._skipped + sum(self._worked.values())) / total if total else 0.0

    @property
    def left(self) -> float | None:
        """Estimated seconds left at the pace so far; None if there is no estimate yet."""
        worked = sum(self._worked.values())
        total = sum(self._sizes.values()) - self._skipped
        if worked < _LEAST_SHARE * total or not worked or self.finished - self._sizes.keys():
            return None
        # Passages are stored in batches. Between two of them the time left counts down.
        left = (total - worked) * (self._paced - self._began) / worked
        return max(0.0, left - (self._clock() - self._paced))

    def __str__(self) -> str:
        """Progress, such as `12 of 372 documents · 1,024 passages · about 3 min left`."""
        parts = [self.documents, count(sum(self._stored.values()), "passage")]
        if self.left is not None:
            parts.append(_about(self.left))
        return " · ".join(parts)

    @property
    def documents(self) -> str:
        """Such as `12 of 372 documents`; the total of web pages is not known."""
        if self.finished - self._sizes.keys() or not self._sizes:
            return count(len(self.finished), "document")
        return f"{len(self.finished):,} of {count(len(self._sizes), 'document')}"


def measure_files(documents: Sequence[Path | str], *, follow_links: bool = False) -> dict[str, int]:
    """Return the files among documents with their sizes in bytes, at least 1 each."""
    found = find([Path(d) for d in documents if not is_web(str(d))], follow_links=follow_links)
    held = dict.fromkeys(map(str, found.files), 1)
    for file in held:
        with suppress(OSError):  # a missing or forbidden file is reported by the update
            held[file] = max(1, Path(file).stat().st_size)
    return held


@contextmanager
def show_standing(console: Console, sizes: Mapping[str, int]) -> Iterator[Standing]:
    """Show a progress bar while documents are indexed.

    Without a terminal, print a line now and then, if it differs from the last. Yields the object
    to call with the steps of the update. `sizes` are the bytes of documents, as far as known.
    """
    standing = Standing(sizes)
    if console.is_terminal:
        spinner = Spinner("dots")

        def draw() -> Table:
            name = plain(standing.document).replace("\\", "/").rpartition("/")[2][:32]
            row, bar = Table.grid(padding=(0, 1)), ProgressBar(1.0, standing.share, width=24)
            row.add_row(spinner, Text(name), bar, Text(str(standing)))
            return row

        with Live(console=console, get_renderable=draw, transient=True, refresh_per_second=10):
            yield standing
        return
    ended = threading.Event()

    def tell() -> None:
        pause, told = _FIRST_LINE, ""
        while not ended.wait(pause):
            if (line := str(standing)) != told:
                console.print(Text(line), soft_wrap=True)
            pause, told = _LINES, line

    thread = threading.Thread(target=tell, name="citeproof-standing", daemon=True)
    thread.start()
    try:
        yield standing
    finally:
        ended.set()
        thread.join()


def _about(seconds: float) -> str:
    if seconds < 60:
        return f"about {max(1, round(seconds))} s left"
    if seconds < 5400:
        return f"about {round(seconds / 60)} min left"
    return f"about {seconds / 3600:.1f} h left"
