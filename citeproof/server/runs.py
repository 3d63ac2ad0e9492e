"""Recent runs, to show, follow up and save."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from citeproof.console.text import cited_sentences
from citeproof.markdown import literal, paragraph
from citeproof.runtime.moments import Moment
from citeproof.server.errors import NotFoundError
from citeproof.server.public import document_link, with_sources
from citeproof.text import file_name
from citeproof.types import Answer

if TYPE_CHECKING:
    from citeproof.graphs.shape import Shape

MOST = 100
"""Most runs to keep."""


@dataclass
class Run:
    """A run and its moments."""

    id: str
    answer: Answer
    moments: list[Moment] = field(default_factory=list)
    shape: Shape | None = None
    """The graph that ran."""

    def fragment(self) -> str:
        """Render the answer as a part of the server's page, with links to its documents."""
        from citeproof.console.page import render_turn  # drawing graphs imports numpy

        shown, moments = self._show(document_link)
        return render_turn(self.answer, shown, moments, self.shape)

    def page(self) -> str:
        """Render the answer as a separate file, as `citeproof ask --html` does."""
        from citeproof.console.page import render_page

        _, moments = self._show(file_name)
        return render_page(self.answer, moments, self.shape)

    def markdown(self) -> str:
        """Render the answer with its sources as Markdown."""
        answer, _ = self._show(file_name)
        lines = (answer.text or answer.reason).splitlines()
        parts = [f"# {literal(answer.question)}", *map(paragraph, lines)]
        if answer.passages:
            parts.append("\n".join(_sources(answer)))
        return "\n\n".join(parts) + "\n"

    def json(self) -> str:
        """Render the answer as `citeproof ask --json` does, with file names instead of paths."""
        return self._show(file_name)[0].model_dump_json(indent=2)

    def _show(self, source: Callable[[str], str]) -> tuple[Answer, list[Moment]]:
        moments = [with_sources(moment, source) for moment in self.moments]
        return with_sources(self.answer, source), moments


class Runs:
    """The latest runs, by id."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Run] = OrderedDict()

    def keep(self, run: Run) -> None:
        """Keep a run, unless its id is kept already, and drop the oldest of too many."""
        self._kept.setdefault(run.id, run)
        self._kept.move_to_end(run.id)
        if len(self._kept) > MOST:
            self._kept.popitem(last=False)

    def drop(self, name: str) -> None:
        """Forget a run, if it is kept."""
        self._kept.pop(name, None)

    def get(self, name: str) -> Run:
        """Return the run with an id."""
        if name not in self._kept:
            raise NotFoundError("This answer is no longer kept", fix="Open its conversation.")
        return self._kept[name]


def _sources(answer: Answer) -> list[str]:
    lines = []
    for number, passage in enumerate(answer.passages, start=1):
        quoted = " ".join(f"“{literal(own)}”" for own in cited_sentences(answer, passage.id))
        place = literal(passage.place)
        origin = f" ({literal(passage.source)})" if passage.source else ""
        lines.append(f"{number}. {place}{origin}" + (f": {quoted}" if quoted else ""))
    return lines
